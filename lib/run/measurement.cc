#include "measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/units.h"
#include "run/load_curve.h"
#include "run/pattern_table.h"
#include "run/sinks.h"

namespace rdmabench::inline v1::run {
namespace {

/// Why a row is not stable. A whole sentence and what to do, the same for all sizes.
std::string_view text_of(measure::Disagreement why) {
  using measure::Disagreement;
  switch (why) {
    case Disagreement::none:
      break;
    case Disagreement::few:
      return "Not stable: too few epochs fit into the time. Measure longer.";
    case Disagreement::two_speeds:
      return "Not stable: the epochs have two speeds, so something changes between two states. Look "
             "at placement, clock frequency and other load.";
    case Disagreement::drift:
      return "Not stable: the epochs drift. Warm up longer, and look for heat and for other load.";
    case Disagreement::dependence:
      return "Not stable: each epoch is like the one before, so that more of them tell little. "
             "Measure several launches.";
    case Disagreement::noise:
      return "Not stable: the epochs differ by chance. Measure longer, or keep other work away.";
  }
  return "";
}

/// What both kinds of result have in common.
template <class Result>
void describe(Result& row, const Config& config, std::uint64_t size,
              const measure::Stopper& stopper, std::uint64_t warmup) {
  row.size_bytes = size;
  row.iterations = stopper.iterations();
  row.warmup_iterations = warmup;
  row.operation = operation_text(config.traffic.pattern, config.traffic.operation);
  row.validated = config.traffic.validate;
  // Counting iterations promises no stability, so only the rule that does can break it.
  row.stable = !config.counts.empty() || config.stop.kind != measure::StopRule::Kind::stable ||
               stopper.converged();
  const double spread = stopper.spread();
  row.spread = spread >= 0 ? spread : 0;  // a single epoch has NaN
  if (const std::string_view why = text_of(stopper.disagreement()); !why.empty()) {
    const auto most = static_cast<double>(config.stop.stability.max_time.count());
    const bool early = stopper.elapsed_ns() < most;
    row.notes.push_back(
        fmt::format("{}{}", why, early ? " More of the time allowed would not have helped." : ""));
  }
}

}  // namespace

Measurement::Measurement(Session& session, const Config& config, const RunHooks& hooks)
    : session_(session), config_(config), hooks_(hooks), epochs_(session, config) {}

template <class Sink>
void Measurement::run_size(std::size_t index, std::vector<typename Sink::Result>& rows) {
  Sink sink(session_, config_);
  const std::uint64_t size = config_.sizes[index];
  using Kind = measure::StopRule::Kind;
  const measure::StopRule rule =
      config_.counts.empty() ? config_.stop : measure::StopRule::iterations(config_.counts[index]);
  measure::Stopper stopper(rule, Sink::kLocation);
  std::uint64_t warmup = 0;
  const auto add_row = [&] {
    auto& row = rows.emplace_back();
    describe(row, config_, size, stopper, warmup);
    sink.fill(row, stopper, epochs_.rate().ns_per_tick);
  };
  try {
    warmup = epochs_.warm_up(size);
    if (Sink::kLocation == measure::Location::mean && warmup > 0) {
      stopper.expect(epochs_.seen() * session_.workers(),
                     static_cast<double>(epochs_.seen_time().count()));
    }
    const auto each = [&](std::uint64_t wanted) {  // rounded up, so that every worker has one
      const std::uint64_t workers = session_.workers();
      return std::min((wanted + workers - 1) / workers, epochs_.longest());
    };
    Deadline::Clock::time_point begin = Deadline::Clock::now();
    const auto add = [&](const EpochOutcome& part) {
      const Deadline::Clock::time_point now = Deadline::Clock::now();
      const auto took = now - std::exchange(begin, now);
      if (part.messages > 0) {
        epochs_.bound(std::max<std::uint64_t>(1, part.messages / session_.workers()), took);
      }
      const Seen seen =
          sink.add(part, epochs_.intervals(part.messages), epochs_.rate().ns_per_tick);
      stopper.add(part.messages, seen.elapsed_ns, seen.locations_ns);
      call(hooks_.on_progress,
           Progress{
               .size_index = index,
               .sizes = config_.sizes.size(),
               .size_bytes = size,
               .iterations = stopper.iterations(),
               .target_iterations = rule.kind == Kind::iterations ? rule.count : 0,
               .elapsed = std::chrono::nanoseconds(static_cast<std::int64_t>(stopper.elapsed_ns())),
               .target_time = rule.kind == Kind::duration ? rule.time : std::chrono::nanoseconds(0),
               .max_time = rule.kind == Kind::stable ? rule.stability.max_time
                                                     : std::chrono::nanoseconds(0),
               .messages_per_s =
                   static_cast<double>(part.messages) / seen.elapsed_ns * kNsPerSecond});
    };
    std::uint64_t next = each(stopper.next_epoch());
    Grow grow;
    if (rule.kind != Kind::iterations && is_stream(session_.spec())) {
      grow = [&](const EpochOutcome& part, std::uint64_t pending) {
        add(part);
        return next = std::min(each(stopper.next_epoch(pending)), 2 * next);  // it may be a burst
      };
    }
    while (next > 0) {
      begin = Deadline::Clock::now();
      add(epochs_.run(size, next, rate_of(config_, size), false, false, grow));
      next = each(stopper.next_epoch());  // a stream's end is foreseen, and may have come too early
    }
  } catch (const std::exception&) {
    if (stopper.iterations() > 0) {
      add_row();
      rows.back().stable = false;
      rows.back().complete = false;
      rows.back().notes.emplace_back("The error of the run cut this row off.");
    }
    throw;
  }
  add_row();
}

void Measurement::run(std::size_t index, report::Report& report) {
  if (auto* latency = std::get_if<std::vector<report::LatencyResult>>(&report.results)) {
    run_size<LatencySink>(index, *latency);
  } else if (std::holds_alternative<std::vector<report::LoadResult>>(report.results)) {
    LoadCurve(session_, epochs_, config_, hooks_).run(index, report);
  } else {
    run_size<BandwidthSink>(index, std::get<std::vector<report::BandwidthResult>>(report.results));
  }
}

}  // namespace rdmabench::inline v1::run
