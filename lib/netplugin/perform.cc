// Runs a task in a child: one end, or both ends in two threads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "case_runner.h"
#include "rdmabench/base/error.h"
#include "rdmabench/measure/clock.h"
#include "rdmabench/measure/histogram.h"
#include "results/row.h"
#include "task.h"

namespace rdmabench::inline v1::netplugin {
namespace {

using Json = nlohmann::json;

constexpr int kMostDevices = 256;

/// The initialized plugin. Version 11 is initialized once for each end, as NCCL does.
struct Opened {
  std::unique_ptr<Net> nets[2];
  Net& net(bool sender) { return *nets[sender && nets[1] ? 1 : 0]; }
};

void initialize(Net& net, int device) {
  if (!net.has_init()) throw Failed{"the table lacks init"};
  watch_handlers();  // of libraries that came with the plugin
  const abi::Result result = net.init();
  watch_handlers();
  if (result != abi::kSuccess) throw Failed{"init returned " + result_text(result)};
  if (const std::vector<std::string_view> missing = net.missing(); !missing.empty()) {
    throw Failed{
        fmt::format("after init() the table lacks {}, which NCCL calls", fmt::join(missing, ", "))};
  }
  int count = 0;
  if (net.devices(count) != abi::kSuccess || count <= device) {
    throw Failed{count > 0
                     ? fmt::format("the plugin has no device {}, only {}", device, count)
                     : fmt::format("devices() gives {}: NCCL would not take the plugin", count)};
  }
}

Json summary_json(const measure::LatencySummary& summary) {
  report::Json row{{"count", summary.count}};
  report::add_latency(row, summary);
  return row;
}

void check_loop(const LoopResult& result, std::uint64_t wanted, std::uint64_t bytes) {
  const std::string_view call = result.call;
  if (call.empty()) return;
  throw Failed{fmt::format(
      "only {} of {} messages of {} bytes are done: {}", result.done, wanted, bytes,
      call == "deadline" ? std::string("the timeout has passed")
                         : fmt::format("{} returned {}", call, result_text(result.result)))};
}

Json measure_here(CaseRunner& runner, const Task& task) {
  const bool latency = task.id == kLatency;
  runner.step(fmt::format("measuring {} of {} bytes", task.id, task.bytes));
  const End forward = runner.open(true);
  const End backward = runner.open(false);
  const End out = runner.sender() ? forward : backward;
  const End in = runner.sender() ? backward : forward;
  Block sent = runner.block(out, task.bytes);
  Block got = runner.block(in, task.bytes);
  runner.step(fmt::format("measuring {} of {} bytes", task.id, task.bytes));
  fill(sent.data(), sent.bytes(), runner.sender() ? 1 : 2);
  const auto left = [&] { return static_cast<std::uint64_t>(runner.deadline().left().count()); };
  const auto exchange = [&] {
    return Exchange{out.comm, in.comm, sent.part(0, task.bytes), got.part(0, task.bytes), left()};
  };
  Json result = Json::object();
  // Costs that occur only once per process must not be in a sample.
  const std::uint64_t warmup = std::min<std::uint64_t>(task.iterations, latency ? 20 : 8);
  std::vector<measure::Ticks> ticks(warmup);
  runner.meet();
  check_loop(runner.net().ping_pong(exchange(), runner.sender(), ticks), warmup, task.bytes);
  if (!runner.sender()) expect(got.data(), task.bytes, 1, "message");
  runner.meet();
  const measure::Anchor begin = measure::take_anchor();
  if (latency) {
    ticks.assign(task.iterations, 0);
    check_loop(runner.net().ping_pong(exchange(), runner.sender(), ticks), task.iterations,
               task.bytes);
    const measure::TickRate rate = measure::tick_rate(begin, measure::take_anchor());
    measure::LatencyRecorder recorder;
    recorder.add(ticks);
    result = summary_json(recorder.summary(rate.ns_per_tick / 2));
  } else {
    std::vector<measure::Ticks> elapsed;
    const std::uint64_t each = std::max<std::uint64_t>(task.iterations / kEpochs, 1);
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const LoopResult loop =
          runner.net().stream(exchange(), runner.sender(), each, abi::kMaxRequests);
      check_loop(loop, each, task.bytes);
      elapsed.push_back(loop.elapsed);
      runner.meet();
    }
    const measure::TickRate rate = measure::tick_rate(begin, measure::take_anchor());
    result["messages"] = each;
    for (const measure::Ticks one : elapsed) {
      const double seconds = static_cast<double>(one) * rate.ns_per_tick / 1e9;
      result["bits_per_s"].push_back(8.0 * static_cast<double>(task.bytes * each) / seconds);
    }
  }
  if (!runner.sender()) expect(got.data(), task.bytes, 1, "the last message");
  runner.release(out, sent);
  runner.release(in, got);
  runner.finish(out);
  runner.close(in);
  return result;
}

/// What a case that went on to its end has to say.
void add_warnings(const CaseRunner& runner, TaskResult& result) {
  if (runner.warnings().empty()) return;
  result.status = Status::warn;
  result.reason = fmt::format("{}", fmt::join(runner.warnings(), "; "));
}

TaskResult one_end(Net& net, const Task& task, bool sender, OobChannel& oob, char* step,
                   const Deadline& deadline) {
  TaskResult result{.side = sender ? "sender" : "receiver", .values = Json::object()};
  CaseRunner runner(net, sender, task.device, oob, deadline, step);
  try {
    if (task.is_case()) {
      find_case(task.id)(runner);
      add_warnings(runner, result);
    } else {
      result.values = measure_here(runner, task);
    }
  } catch (const Failed& failed) {
    result.status = Status::fail;
    result.reason = failed.reason;
  } catch (const Skipped& skipped) {
    result.status = Status::skip;
    result.reason = skipped.reason;
  } catch (const PeerEnded&) {
    result.status = Status::fail;
    result.peer_ended = true;
    result.reason = "the other end ended the case";
  } catch (const PeerSilent&) {
    result.status = Status::fail;
    result.peer_ended = true;
    result.reason = "the other end sent nothing before the timeout of the case";
  } catch (const std::exception& error) {
    result.status = Status::fail;
    result.reason = error.what();
  }
  return result;
}

/// Shared by the threads of both ends. One may still be inside the plugin when the other has
/// failed.
struct Rendezvous {
  ThreadChannels channels;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<TaskResult> results[2];
};

TaskResult both_ends(const std::shared_ptr<Opened>& opened, const Task& task, Steps& steps,
                     const Deadline& deadline) {
  const auto shared = std::make_shared<Rendezvous>();
  for (const bool sender : {false, true}) {
    std::thread([=, &steps] {
      TaskResult result = one_end(opened->net(sender), task, sender, shared->channels.end(sender),
                                  steps.text[sender ? 1 : 0], deadline);
      const std::lock_guard lock(shared->mutex);
      if (ends(result)) shared->channels.ended(sender);
      shared->results[sender ? 1 : 0] = std::move(result);
      shared->changed.notify_all();
    }).detach();
  }
  std::unique_lock lock(shared->mutex);
  const auto failed = [&](int i) { return shared->results[i] && ends(*shared->results[i]); };
  shared->changed.wait(
      lock, [&] { return (shared->results[0] && shared->results[1]) || failed(0) || failed(1); });
  shared->changed.wait_for(lock, std::chrono::seconds(1),
                           [&] { return shared->results[0] && shared->results[1]; });
  for (const int i : {0, 1}) {
    if (shared->results[i]) continue;
    TaskResult result = *shared->results[1 - i];
    if (!result.peer_ended) return result;  // the failed end is why the other still waits
    return {.status = Status::fail,
            .reason = fmt::format("the plugin hangs while {}", steps.text[i]),
            .side = i == 1 ? "sender" : "receiver",
            .values = Json::object()};
  }
  TaskResult result = worse(*shared->results[0], *shared->results[1]);
  result.values = shared->results[1]->values;
  if (result.status == Status::pass) result.side = "both";
  return result;
}

Json look_here(const std::string& file, int version) {
  const std::unique_ptr<Net> net = open_net(file, version);
  return {{"versions", exported_versions(file)},
          {"name", net->name() == nullptr ? "" : net->name()}};
}

Json devices_here(const std::string& file, int version, Steps& steps) {
  Json devices = Json::array();
  const std::unique_ptr<Net> net = open_net(file, version);
  std::snprintf(steps.text[0], Steps::kLength, "in init()");
  initialize(*net, 0);
  int count = 0;
  net->devices(count);
  for (int i = 0; i < std::min(count, kMostDevices); ++i) {
    Properties properties;
    if (net->properties(i, properties) != abi::kSuccess) break;
    devices.emplace_back(write_fields(properties));
  }
  return {{"devices", std::move(devices)}};
}

}  // namespace

std::string perform(const std::string& file, const Task& task, Role role, Pipe& parent,
                    Steps& steps) {
  TaskResult result{.values = Json::object()};
  // The timeout of the parent starts at fork(), so loading the plugin counts.
  const Deadline deadline = Deadline::after(task.timeout);
  try {
    if (task.id == kLook || task.id == kDevices) {
      result.values = task.id == kLook ? look_here(file, task.version)
                                       : devices_here(file, task.version, steps);
      return to_text(result);
    }
    const auto opened = std::make_shared<Opened>();
    opened->nets[0] = open_net(file, task.version);
    std::snprintf(steps.text[0], Steps::kLength, "in init()");
    initialize(*opened->nets[0], task.device);
    if (role == Role::both && opened->nets[0]->version() >= 11) {
      // NCCL initializes once per communicator; before version 11 once per process.
      opened->nets[1] = open_net(file, task.version);
      initialize(*opened->nets[1], task.device);
    }
    steps.text[0][0] = '\0';
    if (role == Role::both) {
      result = both_ends(opened, task, steps, deadline);
    } else {
      RelayChannel oob(parent);
      result = one_end(*opened->nets[0], task, role == Role::sender, oob, steps.text[0], deadline);
    }
  } catch (const Failed& failed) {
    result.status = Status::fail;
    result.reason = failed.reason;
  } catch (const Error& error) {
    result.status = Status::fail;
    result.reason = error.what();
    result.values["fault"] = static_cast<int>(error.fault());
  } catch (const std::exception& error) {
    result.status = Status::fail;
    result.reason = error.what();
  }
  return to_text(result);
}

}  // namespace rdmabench::inline v1::netplugin
