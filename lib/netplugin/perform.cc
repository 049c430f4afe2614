// What a child does: one end of a task, or both in two threads.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "rdmabench/base/error.h"
#include "rdmabench/measure/clock.h"
#include "rdmabench/measure/samples.h"
#include "side.h"
#include "task.h"

namespace rdmabench::netplugin {
namespace {

using Json = nlohmann::json;

constexpr int kMostDevices = 256;

/// The plugin with its functions looked at, initialized once or for each end as NCCL would.
struct Opened {
  std::unique_ptr<Net> nets[2];
  Net& net(bool sender) { return *nets[sender && nets[1] ? 1 : 0]; }
};

void initialize(Net& net, int device) {
  std::string missing;
  for (const std::string_view name : net.missing()) {
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  }
  if (!missing.empty()) throw Failed{fmt::format("the table lacks {}", missing)};
  const abi::Result result = net.init();
  if (result != abi::kSuccess) {
    throw Failed{
        fmt::format("init returned {}{}{}", result_text(result),
                    last_warning().empty() ? "" : "; the plugin logged: ", last_warning())};
  }
  int count = 0;
  if (net.devices(count) != abi::kSuccess || count <= device) {
    throw Failed{count > 0 ? fmt::format("there is no device {}: the plugin has {}", device, count)
                           : fmt::format("devices() gives {}: where there is none, init() has to "
                                         "fail",
                                         count)};
  }
}

Json summary_json(const measure::LatencySummary& s) {
  return {{"count", s.count},
          {"min_ns", s.min_ns},
          {"p50_ns", s.p50_ns},
          {"p90_ns", s.p90_ns},
          {"p99_ns", s.p99_ns},
          {"p999_ns", s.p999_ns},
          {"max_ns", s.max_ns},
          {"mean_ns", s.mean_ns},
          {"stddev_ns", s.stddev_ns},
          {"median_low_ns", s.median_low_ns},
          {"median_high_ns", s.median_high_ns}};
}

void check_loop(const LoopResult& result, std::uint64_t wanted, std::uint64_t bytes) {
  const std::string_view call = result.call;
  if (call.empty()) return;
  throw Failed{fmt::format("{} of {} messages of {} bytes are done: {}", result.done, wanted, bytes,
                           call == "deadline"
                               ? std::string("the rest did not come in the time of a size")
                               : fmt::format("{} returned {}", call, result_text(result.result)))};
}

Json measure_here(Side& side, const Task& task) {
  const bool latency = task.id == kLatency;
  side.step(fmt::format("measuring {} of {} bytes", task.id, task.bytes));
  const End forward = side.open(true);
  const End backward = side.open(false);
  const End out = side.sender() ? forward : backward;
  const End in = side.sender() ? backward : forward;
  Block sent = side.block(out, task.bytes);
  Block got = side.block(in, task.bytes);
  side.step(fmt::format("measuring {} of {} bytes", task.id, task.bytes));
  fill(sent.data(), sent.bytes(), side.sender() ? 1 : 2);
  const auto left = [&] { return static_cast<std::uint64_t>(side.deadline().left().count()); };
  const auto exchange = [&] {
    return Exchange{out.comm, in.comm, sent.part(0, task.bytes), got.part(0, task.bytes), left()};
  };
  Json result = Json::object();
  // What a process pays once is no part of any sample.
  const std::uint64_t warmup = std::min<std::uint64_t>(task.iterations, latency ? 20 : 8);
  std::vector<measure::Ticks> ticks(warmup);
  side.meet();
  check_loop(side.net().ping_pong(exchange(), side.sender(), ticks), warmup, task.bytes);
  if (!side.sender()) expect(got.data(), task.bytes, 1, "message");
  side.meet();
  const measure::Anchor begin = measure::take_anchor();
  if (latency) {
    ticks.assign(task.iterations, 0);
    check_loop(side.net().ping_pong(exchange(), side.sender(), ticks), task.iterations, task.bytes);
    const measure::TickRate rate = measure::tick_rate(begin, measure::take_anchor());
    measure::LatencyRecorder recorder;
    recorder.add(ticks);
    result = summary_json(recorder.summary(rate.ns_per_tick / 2));
  } else {
    std::vector<measure::Ticks> elapsed;
    const std::uint64_t each = std::max<std::uint64_t>(task.iterations / kEpochs, 1);
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const LoopResult loop = side.net().stream(exchange(), side.sender(), each, abi::kMaxRequests);
      check_loop(loop, each, task.bytes);
      elapsed.push_back(loop.elapsed);
      side.meet();
    }
    const measure::TickRate rate = measure::tick_rate(begin, measure::take_anchor());
    result["messages"] = each;
    for (const measure::Ticks one : elapsed) {
      const double seconds = static_cast<double>(one) * rate.ns_per_tick / 1e9;
      result["bits_per_s"].push_back(8.0 * static_cast<double>(task.bytes * each) / seconds);
    }
  }
  if (!side.sender()) expect(got.data(), task.bytes, 1, "the last message");
  side.release(out, sent);
  side.release(in, got);
  side.finish(out);
  side.close(in);
  return result;
}

Outcome one_end(Net& net, const Task& task, bool sender, Wire& wire, char* step,
                const Deadline& deadline) {
  Outcome outcome{.side = sender ? "sender" : "receiver", .result = Json::object()};
  Side side(net, sender, task.device, wire, deadline, step);
  try {
    if (task.is_case()) {
      find_case(task.id)(side);
    } else {
      outcome.result = measure_here(side, task);
    }
  } catch (const Failed& failed) {
    outcome.status = Status::fail;
    outcome.reason = failed.reason;
  } catch (const Skipped& skipped) {
    outcome.status = Status::skip;
    outcome.reason = skipped.reason;
  } catch (const PeerEnded&) {
    outcome.status = Status::fail;
    outcome.peer_ended = true;
    outcome.reason = "the other end has ended the case";
  } catch (const PeerSilent&) {
    outcome.status = Status::fail;
    outcome.peer_ended = true;
    outcome.reason = "the other end says nothing within the time of the case";
  } catch (const std::exception& error) {
    outcome.status = Status::fail;
    outcome.reason = error.what();
  }
  return outcome;
}

/// What two threads leave; each may still be in the plugin when the other has failed.
struct Rendezvous {
  ThreadWires wires;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Outcome> outcomes[2];
};

Outcome both_ends(const std::shared_ptr<Opened>& opened, const Task& task, Steps& steps,
                  const Deadline& deadline) {
  const auto shared = std::make_shared<Rendezvous>();
  for (const bool sender : {false, true}) {
    std::thread([=, &steps] {
      Outcome outcome = one_end(opened->net(sender), task, sender, shared->wires.end(sender),
                                steps.text[sender ? 1 : 0], deadline);
      const std::lock_guard lock(shared->mutex);
      if (outcome.status != Status::pass) shared->wires.ended(sender);
      shared->outcomes[sender ? 1 : 0] = std::move(outcome);
      shared->changed.notify_all();
    }).detach();
  }
  std::unique_lock lock(shared->mutex);
  const auto failed = [&](int i) {
    return shared->outcomes[i] && shared->outcomes[i]->status != Status::pass;
  };
  shared->changed.wait(
      lock, [&] { return (shared->outcomes[0] && shared->outcomes[1]) || failed(0) || failed(1); });
  shared->changed.wait_for(lock, std::chrono::seconds(1),
                           [&] { return shared->outcomes[0] && shared->outcomes[1]; });
  for (const int i : {0, 1}) {
    if (shared->outcomes[i]) continue;
    Outcome outcome = *shared->outcomes[1 - i];
    if (!outcome.peer_ended) return outcome;  // that is why the one still runs
    return {.status = Status::fail,
            .reason = fmt::format("the plugin hangs while {}", steps.text[i]),
            .side = i == 1 ? "sender" : "receiver",
            .result = Json::object()};
  }
  Outcome outcome = worse(*shared->outcomes[0], *shared->outcomes[1]);
  outcome.result = shared->outcomes[1]->result;
  if (outcome.status == Status::pass) outcome.side = "both";
  return outcome;
}

Json device_json(const Properties& p) {
  const auto maybe = [](const auto& value) { return value ? Json(*value) : Json(); };
  return {{"name", maybe(p.name)},
          {"pci_path", maybe(p.pci_path)},
          {"guid", p.guid},
          {"pointer_kinds", p.pointer_kinds},
          {"speed_mbps", p.speed_mbps},
          {"port", p.port},
          {"latency_us", p.latency_us},
          {"max_comms", p.max_comms},
          {"max_receives", p.max_receives}};
}

Json look_here(const std::string& file, int version) {
  Json json = {{"versions", exported_versions(file)}, {"devices", Json::array()}};
  const std::unique_ptr<Net> net = open_net(file, version);
  json["name"] = net->name() == nullptr ? "" : net->name();
  try {
    initialize(*net, 0);
    int count = 0;
    net->devices(count);
    for (int i = 0; i < std::min(count, kMostDevices); ++i) {
      Properties properties;
      if (net->properties(i, properties) != abi::kSuccess) break;
      json["devices"].push_back(device_json(properties));
    }
  } catch (const Failed& failed) {
    json["trouble"] = failed.reason;
  }
  return json;
}

}  // namespace

std::string perform(const std::string& file, const Task& task, Role role, Pipe& parent,
                    Steps& steps) {
  Outcome outcome{.result = Json::object()};
  // The parent counts from the fork on: loading the plugin is part of it.
  const Deadline deadline = Deadline::after(task.timeout);
  try {
    if (task.id == kLook) {
      outcome.result = look_here(file, task.version);
      return to_text(outcome);
    }
    const auto opened = std::make_shared<Opened>();
    opened->nets[0] = open_net(file, task.version);
    std::snprintf(steps.text[0], Steps::kLength, "in init()");
    initialize(*opened->nets[0], task.device);
    if (role == Role::both && opened->nets[0]->version() >= 11) {
      // NCCL initializes for each communicator; before version 11 it did for each process.
      opened->nets[1] = open_net(file, task.version);
      initialize(*opened->nets[1], task.device);
    }
    steps.text[0][0] = '\0';
    if (role == Role::both) {
      outcome = both_ends(opened, task, steps, deadline);
    } else {
      RelayWire wire(parent);
      outcome =
          one_end(*opened->nets[0], task, role == Role::sender, wire, steps.text[0], deadline);
    }
  } catch (const Failed& failed) {
    outcome.status = Status::fail;
    outcome.reason = failed.reason;
  } catch (const Error& error) {
    outcome.status = Status::fail;
    outcome.reason = error.what();
    outcome.result["fault"] = static_cast<int>(error.fault());
  } catch (const std::exception& error) {
    outcome.status = Status::fail;
    outcome.reason = error.what();
  }
  return to_text(outcome);
}

}  // namespace rdmabench::netplugin
