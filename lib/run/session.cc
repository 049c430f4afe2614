#include "run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <thread>

#include "memory/gpu_memory.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/units.h"
#include "rdmabench/run/connect.h"
#include "run/epoch_text.h"
#include "run/together.h"

namespace rdmabench::inline v1::run {

using workload::EpochResult;
using workload::Outcome;
using workload::Side;

namespace {

/// The schedule of a rate, in this side's own ticks.
std::uint64_t gap_of(double messages_per_s, double ns_per_tick) {
  if (messages_per_s <= 0) return 0;
  constexpr double kQ16 = 65536;
  const double ticks = kNsPerSecond / messages_per_s / ns_per_tick;
  return static_cast<std::uint64_t>(std::clamp(ticks * kQ16, 1.0, 1e18));
}

/// Whether the peer's next message is there. A broken channel is interrupted() and has no answer.
bool has_answer(const control::Channel& channel) noexcept {
  try {
    return channel.readable(std::chrono::milliseconds(0)) && !channel.interrupted();
  } catch (const std::exception&) {
    return false;
  }
}

/// The worker whose failure is the cause: one that was merely told to stop comes after all others.
std::size_t first_failure(const std::vector<EpochResult>& results) {
  std::size_t found = results.size();
  for (std::size_t i = results.size(); i-- > 0;) {
    if (results[i].outcome == Outcome::ok) continue;
    const bool told = results[i].outcome == Outcome::interrupted;
    if (found == results.size() || !told) found = i;
  }
  return found;
}

/// The processor time of the calling thread. Source: clock_gettime(2).
std::chrono::nanoseconds processor_time() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// For a Watch. `waited` is for how long nothing has completed.
bool rest_while_idle(IdleThread& own, const WhileIdle& idle,
                     std::chrono::nanoseconds waited) noexcept {
  own.note(waited);
  if (idle.polling.rest() == 0) return false;
  const std::chrono::nanoseconds nap = own.nap(idle.polling, processor_time());
  if (nap.count() == 0) return false;
  std::this_thread::sleep_for(nap);
  return true;
}

/// Of the side that says so: what only its peer or its caller did is none.
bool is_finding(Outcome outcome) {
  return outcome != Outcome::cancelled && outcome != Outcome::interrupted;
}

}  // namespace

void Session::open(const Backend& backend, const transport::EndpointRequest& request,
                   std::string_view choice) {
  try {
    workers_.push_back(backend.open(request, choice));
  } catch (const Error& error) {  // the other side reads it too
    throw error.at(request.client ? "at the client" : "at the server");
  }
  add(*workers_.back());
}

OpenOne Session::opener() {
  return [this](const Backend& backend, const transport::EndpointRequest& request,
                std::string_view choice) { open(backend, request, choice); };
}

void Session::start_over(std::string_view reason) {
  leave_together(reason);
  workers_.clear();
}

std::vector<std::string> Session::devices() const {
  std::vector<std::string> devices;
  for (const std::unique_ptr<Worker>& worker : workers_) {
    std::string device = worker->describe().device;
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
      devices.push_back(std::move(device));
    }
  }
  return devices;
}

MemoryPath Session::memory_path() const {
  MemoryPath path = MemoryPath::host;
  for (const std::unique_ptr<Worker>& worker : workers_) {
    const memory::GpuMemory* const gpu = worker->gpu_memory();
    if (gpu == nullptr) continue;
    if (gpu->staged()) return MemoryPath::staged;
    path = MemoryPath::direct;
  }
  return path;
}

std::vector<std::string> Session::direct_routes() const {
  std::vector<std::string> routes;
  for (const std::unique_ptr<Worker>& worker : workers_) {
    const memory::GpuMemory* const gpu = worker->gpu_memory();
    if (gpu == nullptr || gpu->staged()) continue;
    for (const std::string& route : worker->describe().memory_routes) {
      if (std::find(routes.begin(), routes.end(), route) == routes.end()) routes.push_back(route);
    }
  }
  return routes;
}

report::Facts Session::memory_facts() const {
  report::Facts facts;
  if (workers_.empty() || workers_[0]->gpu_memory() == nullptr) return facts;
  for (const auto& [name, value] : workers_[0]->describe().details) {
    if (name.starts_with("memory") || name.starts_with("gpu") || name == kRelaxedOrdering) {
      facts.push_back({name, value});
    }
  }
  return facts;
}

transport::WriteOrder Session::write_order() const noexcept {
  transport::WriteOrder all{.bytes = kMaxSize, .promised = true};
  for (const std::unique_ptr<Worker>& worker : workers_) {
    const transport::WriteOrder one = worker->write_order();
    all.bytes = std::min(all.bytes, one.bytes);
    all.promised = all.promised && one.promised;
  }
  return all;
}

transport::OperationCode Session::posted(std::uint64_t size) const noexcept {
  if (!is_ping_pong_of_writes(spec_)) return spec_.traffic.operation;
  const bool polls = size <= std::min(write_order().bytes, peer_write_order_.bytes);
  return polls ? spec_.traffic.operation : transport::OperationCode::write_imm;
}

void Session::prepare(Side side, const EpochOrder& order, bool goes_on) {
  key_ = {
      .shape = spec_.traffic.shape,
      .operation = order.immediate ? transport::OperationCode::write_imm : spec_.traffic.operation,
      .side = side,
      .validate = spec_.traffic.validate || order.verify,
      .epoch_content = spec_.gpu,
      .clock = measure::clock_choice().source,
      .paced = spec_.paced && spec_.traffic.shape == workload::Shape::bandwidth,
      .target_idle = spec_.traffic.target_idle,
      .for_write = order.immediate};
  plan_ = {.iterations = order.iterations,
           .grows = order.grows,
           .size = order.size,
           .depth = slots_.depth,
           .receives = slots_.receives,
           .post_list = slots_.post_list,
           .gap_q16 =
               gap_of(order.rate, measure::tick_rate(anchor_, measure::take_anchor()).ns_per_tick),
           .arrivals = spec_.traffic.arrivals,
           .events = spec_.endpoint.events};
  answered_ = spec_.traffic.shape != workload::Shape::bidirectional;
  if (!goes_on) behind_.clear();
  behind_.resize(workers_.size());
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const std::unique_ptr<Worker>& worker = workers_[i];
    plan_.behind = behind_[i];
    if (spec_.traffic.pattern.empty()) {
      worker->prepare(key_, plan_);
    } else {
      worker->prepare_pattern(spec_.traffic.pattern, key_, plan_);
    }
  }
}

std::chrono::nanoseconds Session::patience() const {
  // An idle target sees only the initiator's message, which may itself take the whole timeout.
  return spec_.traffic.target_idle && key_.side == Side::target ? 2 * timeout() : timeout();
}

/// The peer's next message, which has `more` to say. Nothing while there is none, and where the
/// epoch is to end: it may have been there for long, and an abort behind it must come to be the
/// next one.
std::optional<Extension> Session::take_more(Growth& growth) {
  const bool here = channel().readable(std::chrono::milliseconds(0));
  if (stop().stop_requested() || (here && channel().interrupted())) {
    growth.end();
    return std::nullopt;
  }
  if (!here) return std::nullopt;
  std::optional<control::Message> message = channel().receive_ready("what is to follow");
  if (!message) return std::nullopt;
  return parse<Extension>(channel().expect(std::move(*message), SessionMessage::more));
}

/// The caller's thread decides, when all workers soon need more, at the server of a duplex too.
std::optional<std::uint64_t> Session::more_of_client(Growth& growth, std::size_t worker,
                                                     const Grow& grow, const Deadline& longest) {
  if (worker != 0) return std::nullopt;
  throw_if_stopped();
  if (!answered_) {
    answered_ = take_more(growth).has_value();
  } else if (channel().interrupted()) {
    growth.end();
  }
  if (growth.over() || !answered_ || !growth.all_told()) return std::nullopt;
  const StreamPart part = growth.cut();
  std::uint64_t more = grow({.begin = part.begin,
                             .end = part.end,
                             .messages = part.messages,
                             .whole = false,
                             .parts = part.times},
                            growth.pending());
  if (longest.passed() || more > kMaxEpoch - growth.iterations()) more = 0;
  send(SessionMessage::more, to_text(Extension{more}));
  answered_ = spec_.traffic.shape != workload::Shape::bidirectional;
  return more;
}

std::optional<std::uint64_t> Session::more_of_server(Growth& growth) {
  if (!answered_ && growth.all_told()) {
    send(SessionMessage::more, to_text(Extension{}));
    answered_ = true;
  }
  const std::optional<Extension> extension = take_more(growth);
  if (!extension) return std::nullopt;
  answered_ = spec_.traffic.shape != workload::Shape::bidirectional;
  if (extension->iterations <= kMaxEpoch - growth.iterations()) return extension->iterations;
  throw Error(Fault::failed, fmt::format("the client's epoch grows beyond {} messages", kMaxEpoch));
}

/// A target whose messages may be lost may end before it has read all that the client says.
void Session::settle(Growth& growth) {
  workload::Extent extent{.iterations = plan_.iterations, .whole = !plan_.grows};
  const Deadline deadline = Deadline::after(timeout());
  while (!extent.whole && !extent.over && !deadline.passed()) {
    growth.extend(0, extent, nullptr);
    if (!extent.whole) static_cast<void>(channel().readable(std::chrono::milliseconds(1)));
  }
}

/// Of an epoch that failed: what the peer said before it left, for its reason is behind that.
void Session::skip_more() noexcept {
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(200));
  try {
    while (!deadline.passed() && !stop().stop_requested() &&
           channel().readable(std::chrono::milliseconds(0)) && !channel().interrupted()) {
      const auto message = channel().receive_ready("what was to follow");
      if (!message || message->type != SessionMessage::more) return;
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // Then there is no reason to be read.
  }
}

std::vector<EpochResult> Session::run_workers(std::span<measure::Ticks> intervals,
                                              const WhileIdle* idle, Growth& growth,
                                              std::vector<std::chrono::nanoseconds>& paused) {
  std::vector<EpochResult> results(workers_.size());
  std::atomic<bool> broken{false};
  const auto pin = [&](std::size_t i) {
    if (i > 0 && !cpus_.empty()) try_pin_this_thread(cpus_[i % cpus_.size()]);
  };
  const auto drive = [&](std::size_t i) {
    IdleThread own(longest_epoch());
    const auto rest = [&](std::chrono::nanoseconds waited) {
      return rest_while_idle(own, *idle, waited);
    };
    workload::Watch watch(
        idle == nullptr ? patience() : std::min(patience(), idle->limit),
        [&] { return broken || stop().stop_requested() || channel().interrupted(); },
        [&] { return has_answer(channel()); },
        idle == nullptr ? std::function<bool(std::chrono::nanoseconds)>() : rest);
    if (plan_.grows) {
      const bool sees_none = key_.side == Side::initiator || !transport::notifies(key_.operation);
      watch.let_grow(plan_.iterations, sees_none,
                     [&growth, i](workload::Extent& extent, const EpochResult* pump) {
                       growth.extend(i, extent, pump);
                     });
    }
    const auto part =
        intervals.empty() ? intervals : intervals.subspan(i * plan_.iterations, plan_.iterations);
    results[i] = workers_[i]->run(watch, part);
    paused[i] = own.paused();
    if (results[i].outcome != Outcome::ok) broken = true;  // the others need not wait for it
  };
  run_together(workers_.size(), pin, drive);
  return results;
}

EpochOutcome Session::run(std::span<measure::Ticks> intervals, const WhileIdle* idle,
                          const Grow& grow) {
  const Deadline longest = Deadline::after(std::chrono::minutes(1));
  std::vector<std::chrono::nanoseconds> paused(workers_.size());
  const bool target = key_.side == Side::target;
  Growth growth(plan_, workers_.size(), !target, [&](std::size_t worker) {
    return target ? more_of_server(growth) : more_of_client(growth, worker, grow, longest);
  });
  const std::vector<EpochResult> results = run_workers(intervals, idle, growth, paused);
  const auto first = first_failure(results);
  if (first == results.size() && target) settle(growth);
  plan_.iterations = growth.iterations();
  const StreamPart rest = growth.finish(results);
  EpochOutcome epoch{.begin = rest.begin,
                     .end = rest.end,
                     .max_lag = 0,
                     .target = {},
                     .messages = rest.messages,
                     .parts = rest.times,
                     .paused = *std::max_element(paused.begin(), paused.end())};
  behind_.clear();
  for (const EpochResult& result : results) {
    behind_.push_back(result.behind);
    epoch.max_lag = std::max(epoch.max_lag, result.lag);
    epoch.rested = std::max(epoch.rested, result.rested);
    epoch.target.arrived += result.arrived;
    epoch.target.succeeded += result.succeeded;
  }
  if (first == results.size()) return epoch;
  throw_if_stopped();
  if (plan_.grows) skip_more();
  if (spec_.traffic.target_idle && key_.side == Side::initiator &&
      results[first].outcome == Outcome::stalled) {
    throw Error(
        Fault::failed,
        fmt::format("not one-sided here: `operation` {} did not complete within {} ms while the "
                    "target left its endpoint alone",
                    transport::name(spec_.traffic.operation),
                    timeout() / std::chrono::milliseconds(1)));
  }
  const Outcome outcome = results[first].outcome;
  std::string text =
      epoch_text(results[first], plan_, timeout(), channel().peer(), workers_[first]->failure());
  if (outcome == Outcome::stalled) {
    const std::string report = workers_[first]->device_report();
    if (!report.empty()) text += ". " + report;
  }
  const bool ours = outcome == Outcome::post_failed || outcome == Outcome::completion_failed;
  throw EpochError(outcome, channel().interrupted() ? text + ": " + reason_of_peer() : text,
                   ours ? workers_[first]->failed_call() : Failure());
}

void Session::give_up(const std::exception& error, std::string_view reason) noexcept {
  channel().abort(reason);
  const auto* const epoch = dynamic_cast<const EpochError*>(&error);
  if (epoch == nullptr || !is_finding(epoch->outcome())) return;
  constexpr auto kLimit = std::chrono::milliseconds(200);  // as long as an abort may take
  try {
    channel().send(SessionMessage::result, to_text(EpochReport{.outcome = epoch->outcome()}),
                   Deadline::after(kLimit));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // The peer has left already.
  }
}

Outcome Session::outcome_of_peer() noexcept {
  constexpr auto kRightBehind = std::chrono::seconds(1);  // a segment may have to be sent again
  try {
    const std::string text =
        channel().receive(SessionMessage::result, Deadline::after(kRightBehind), "outcome");
    const Outcome outcome = parse<EpochReport>(text).outcome;
    return is_finding(outcome) ? outcome : Outcome::ok;
  } catch (const std::exception&) {
    return Outcome::ok;
  }
}

std::string Session::reason_of_peer() {
  try {
    static_cast<void>(channel().expect(take(Deadline::after(timeout()), "the reason why it left"),
                                       SessionMessage::result));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "the peer gave no reason";
}

}  // namespace rdmabench::inline v1::run
