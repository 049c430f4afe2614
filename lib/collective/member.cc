#include "member.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "collective/heartbeat.h"
#include "packing.h"
#include "rdmabench/base/error.h"
#include "results/not_rdma.h"

namespace rdmabench::inline v1::collective {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  // bytes generated or read at once

/// Those whose counters are read, each once.
std::vector<std::string> watched(const MemberOptions& options) {
  std::vector<std::string> devices = options.devices;
  if (devices == std::vector<std::string>{"all"}) {
    devices = health::rdma_devices(options.root);
  }
  if (!options.interfaces) return devices;
  for (std::string& interface : health::network_devices(options.root)) {
    if (std::find(devices.begin(), devices.end(), interface) == devices.end()) {
      devices.push_back(std::move(interface));
    }
  }
  return devices;
}

std::string describe(const Call& call) {
  return fmt::format("{} of {} {}", name(call.operation), call.count, name(call.type));
}

constexpr std::uint64_t kBytesPerSecond = 100'000'000;  // of any library and any copy, at least
constexpr auto kGrace = std::chrono::seconds(3);

/// Of a driver without persistence mode that wakes eight GPUs.
constexpr auto kFirstUse = std::chrono::minutes(2);

/// A library that is being loaded returns by itself: the rank then reads why rank 0 ended.
constexpr auto kLoading = std::chrono::seconds(10);

/// Of an epoch; bounded, so that its time can be counted.
int most_waits(std::uint64_t samples) {
  return static_cast<int>(std::min<std::uint64_t>(samples, 1000)) + 1;
}

}  // namespace

Member::Member(RankGroup& group, Engine& engine, const MemberOptions& options)
    : group_(group), engine_(engine), options_(options), team_(group.team()) {}

Deadline Member::deadline(std::uint64_t bytes) const {
  return Deadline::after(options_.timeout + std::chrono::seconds(bytes / kBytesPerSecond));
}

/// On all ranks, before any deadline of the library counts.
void Member::load_library() {
  group_.state().enter(Phase::opening);
  const Deadline limit = Deadline::after(options_.timeout + kFirstUse);
  {
    const Heartbeat::Guard guard(group_.heartbeat(), fmt::format("loading {}", engine_.name()),
                                 limit, kLoading);
    engine_.load();
  }
  group_.barrier(limit.earlier());
}

void Member::open_library(Exchange& exchange) {
  group_.state().enter(Phase::opening);
  {
    const Deadline limit = deadline();
    const Heartbeat::Guard guard(group_.heartbeat(), fmt::format("opening {}", engine_.name()),
                                 limit);
    engine_.open(team_, exchange, limit.earlier());
  }
  group_.state().enter(Phase::idle);
}

void Member::join_group(const std::vector<std::uint32_t>& group_of) {
  const std::uint32_t rank = group_.team().rank;
  const auto groups = members(group_of, group_.team().size);
  const std::vector<std::uint32_t>& mine = groups[group_of.empty() ? 0 : group_of[rank]];
  team_ = {
      .rank = static_cast<std::uint32_t>(std::find(mine.begin(), mine.end(), rank) - mine.begin()),
      .size = static_cast<std::uint32_t>(mine.size())};
  held_.clear();  // what a slot holds was told for the team before
  exchange_.emplace(group_, mine);
  open_library(*exchange_);
}

void Member::open() {
  load_library();
  open_library(group_);
  const std::vector<std::string> hosts = group_.all_gather(this_rank(team_.rank).host, deadline());
  const auto here = std::count(hosts.begin(), hosts.end(), hosts[team_.rank]);
  yields_ = here > sysconf(_SC_NPROCESSORS_ONLN);
  watch_.emplace(watched(options_),
                 health::WatchOptions{.root = options_.root, .noise = std::chrono::nanoseconds(0)});
  watch_->begin();
}

std::string Member::execute(const RankCommand& order, const Starts& starts) {
  switch (order.what) {
    case RankCommand::What::row:
      prepare(order);
      return {};
    case RankCommand::What::epoch:
      return to_text(run(order, starts));
    case RankCommand::What::clocks:
      clocks_ = group_.compare_clocks(order.rounds, deadline());
      return {};
    case RankCommand::What::groups:
      join_group(order.group_of);
      return {};
    case RankCommand::What::facts:
      return to_text(RankReport{.facts = facts()});
    case RankCommand::What::end:
      return end();
  }
  return {};
}

void Member::prepare(const RankCommand& order) {
  row_ = order;
  LiveRankState& state = group_.state();
  state.begin_row(order.row, order.call.operation, size_bytes(order.call, team_.size));
  state.enter(Phase::preparing);
  if (!engine_.unsupported(row_.call, team_.size).empty()) {
    // Another group's can do it. This one keeps step, and rank 0 looks at nothing that it tells.
    row_.call.reduction = Reduction::sum;
  }
  if (const std::string why = engine_.unsupported(row_.call, team_.size); !why.empty()) {
    throw Error(Fault::failed, fmt::format("{}: {}", describe(row_.call), why));
  }
  layout_ = engine_.layout(row_.call);
  segments_ = segments(row_.call, team_);
  {
    const Deadline limit = deadline();
    const Heartbeat::Guard guard(group_.heartbeat(),
                                 fmt::format("preparing {}", describe(row_.call)), limit);
    engine_.prepare(row_.call, order.slots, order.batch, limit.earlier());
  }
  // Slots of rows of another size may begin elsewhere, except for the first. Stale results in them
  // are then not recognized as stale.
  held_.resize(order.slots);
  staging_.resize(kGuardBytes +
                  std::min<std::size_t>(kPiece, std::max({layout_.send_bytes, layout_.receive_bytes,
                                                          std::uint64_t{8}})));
  if (order.check && layout_.receive_bytes > 0) write_guards(0, order.slots);
  state.enter(Phase::idle);
}

void Member::write_all(Deadline deadline) {
  if (!stretches_.empty()) engine_.write(stretches_.list(), deadline);
  stretches_.clear();
}

/// Marks the slots of those that differ.
void Member::find_all(std::vector<bool>& different, Deadline deadline) {
  const std::span<const Stretch> list = stretches_.list();
  if (!list.empty()) {
    for (const std::size_t one : engine_.find_different(list, deadline)) {
      different[list[one].slot] = true;
    }
  }
  stretches_.clear();
}

/// Writes the inputs of the next operations, one into each slot.
void Member::fill(std::uint64_t operations, std::uint64_t first_iteration) {
  const Deadline limit = deadline(layout_.send_bytes * operations);
  const SlotBuffer side = layout_.in_place ? SlotBuffer::receive : SlotBuffer::send;
  for (std::uint64_t i = 0; layout_.send_bytes > 0 && i < operations; ++i) {
    if (stretches_.full()) write_all(limit);
    const Stretch input{.side = side,
                        .slot = static_cast<std::uint32_t>(i),
                        .offset = layout_.send_offset,
                        .bytes = layout_.send_bytes};
    make_input(row_.call, team_.size, team_.rank, in_run(first_iteration + i), 0,
               stretches_.add(input, kPeriod * bytes_of(row_.call.type)));
  }
  write_all(limit);
}

Epoch Member::run(const RankCommand& order, const Starts& starts) {
  const std::uint64_t operations = order.samples * row_.batch;
  LiveRankState& state = group_.state();
  state.enter(Phase::filling);
  state.at(order.first_iteration);
  // Before timing: an epoch may be shorter than the heartbeat's interval.
  group_.heartbeat().beat();
  fill(std::min<std::uint64_t>(operations, row_.slots), order.first_iteration);
  const Deadline limit = deadline(layout_.send_bytes * operations);
  group_.gather({}, limit);
  const std::string text = group_.leads() ? pack_numbers(starts()) : std::string();
  const auto begin = unpack_numbers(group_.broadcast(text, limit), group_.team().size);
  // Of all the operations of a sample.
  const std::uint64_t most = std::max(layout_.send_bytes, layout_.receive_bytes);
  const std::chrono::nanoseconds timeout =
      options_.timeout + std::chrono::seconds(most * row_.batch / kBytesPerSecond);
  const LoopPlan plan{
      .batch = row_.batch,
      .slots = row_.slots,
      .first_iteration = order.first_iteration,
      .start_ns = std::min(begin[group_.team().rank], measure::RawClock::stamp() + 1'000'000'000),
      .timeout = timeout,
      .yields = yields_};
  Epoch epoch;
  epoch.stamps.resize(order.samples);
  std::size_t at = 0;
  state.enter(Phase::running);
  LoopEnd ended{};
  {
    // The loop watches its own time between two calls of the library, not within one.
    const Heartbeat::Guard guard(group_.heartbeat(), describe(row_.call),
                                 Deadline::after(timeout * most_waits(order.samples)), kGrace);
    ended = engine_.run(plan, epoch.stamps, state, group_.heartbeat().over(), at);
  }
  const std::uint64_t iteration = order.first_iteration + at * row_.batch;
  switch (ended) {
    case LoopEnd::done:
      break;
    case LoopEnd::failed:
      throw Error(Fault::failed, fmt::format("{}, iteration {}: {}", describe(row_.call), iteration,
                                             engine_.failure()));
    case LoopEnd::timed_out:
      throw Error(Fault::failed,
                  fmt::format("{}, iteration {} was not done within {:.3g} s", describe(row_.call),
                              iteration, std::chrono::duration<double>(timeout).count()));
    case LoopEnd::over:
      throw Error(Fault::failed, fmt::format("{}, iteration {}: {}", describe(row_.call), iteration,
                                             group_.heartbeat().reason()));
  }
  state.at(order.first_iteration + operations);
  state.enter(Phase::checking);
  if (row_.check && layout_.receive_bytes > 0) {  // in reduce and gather only the root has a result
    check_all(operations, order.first_iteration, epoch.checked);
  }
  state.enter(Phase::idle);
  return epoch;
}

void Member::add_guard(std::uint32_t slot) {
  make_guard(team_.rank, stretches_.add({.side = SlotBuffer::receive,
                                         .slot = slot,
                                         .offset = layout_.result_buffer_bytes(),
                                         .bytes = kGuardBytes},
                                        kGuardBytes));
}

void Member::write_guards(std::uint32_t first, std::uint32_t count) {
  const Deadline limit = deadline();
  for (std::uint32_t slot = first; slot < first + count; ++slot) {
    if (stretches_.full()) write_all(limit);
    add_guard(slot);
  }
  write_all(limit);
}

/// Of the epoch's operations, the last one in this slot: run_loop() goes on to the next slots with
/// each sample, or begins at the first one again where a sample takes all.
std::uint64_t Member::last_in(std::uint32_t slot, std::uint64_t operations) const {
  const std::uint64_t turns = row_.batch > row_.slots ? row_.batch : operations;
  return operations - turns + slot + (turns - 1 - slot) / row_.slots * row_.slots;
}

/// The back end compares what is in the slots, results and guards, where they are; what it finds
/// different is read and looked at here, byte by byte. Out of place all operations of a slot have
/// the same result. In place the result of one is the input of the next, so where a slot was taken
/// again only its guard is compared.
void Member::check_all(std::uint64_t operations, std::uint64_t first_iteration, Checked& checked) {
  const std::uint64_t slots = std::min<std::uint64_t>(operations, row_.slots);
  const bool results = operations == slots || !row_.call.in_place;
  const Deadline limit = deadline(layout_.receive_bytes * slots);
  std::vector<bool> different(slots, options_.check_by_cpu);
  for (std::uint64_t i = 0; !options_.check_by_cpu && i < slots; ++i) {
    const auto slot = static_cast<std::uint32_t>(i);
    for (const Segment& segment : segments_) {
      if (segment.bytes == 0 || !results) continue;
      if (stretches_.full()) find_all(different, limit);
      const Stretch result{.side = SlotBuffer::receive,
                           .slot = slot,
                           .offset = layout_.receive_offset + segment.offset,
                           .bytes = segment.bytes,
                           .tolerance_ulp = tolerance_ulp(row_.call, team_.size)};
      make_expected(row_.call, team_.size, in_run(first_iteration + i), segment,
                    stretches_.add(result, kPeriod * bytes_of(row_.call.type)));
    }
    if (stretches_.full()) find_all(different, limit);
    add_guard(slot);
  }
  find_all(different, limit);
  for (std::uint64_t i = 0; i < slots; ++i) {
    const auto slot = static_cast<std::uint32_t>(i);
    if (results) ++checked.operations;
    if (different[i]) {
      check_slot(slot, first_iteration + i, first_iteration + last_in(slot, operations), results,
                 checked);
    }
    held_[slot].reset();
    if (results) {
      held_[slot] = {row_.call, in_run(first_iteration + i), layout_.receive_offset};
    }
  }
}

/// Reads large pieces regardless of segments, with the guard in the last one where possible: the
/// cost of a copy from a device hardly depends on its size. Returns what is wrong in the guard.
std::optional<Wrong> Member::read_result(std::uint32_t slot, Checker& checker) {
  const std::uint64_t bytes = layout_.receive_bytes;
  const std::uint64_t guard_at = layout_.result_buffer_bytes() - layout_.receive_offset;
  const std::size_t most = staging_.size() - kGuardBytes;
  const Deadline limit = deadline(bytes);
  auto segment = segments_.begin();
  std::size_t held = 0;  // bytes of the result in the staging buffer
  for (std::uint64_t at = 0; at < bytes; at += held) {
    held = std::min<std::uint64_t>(most, bytes - at);
    const std::uint64_t end = at + held;
    engine_.read(SlotBuffer::receive, slot, layout_.receive_offset + at,
                 std::span(staging_.data(), held + (end == guard_at ? kGuardBytes : 0)), limit);
    for (; segment != segments_.end() && segment->offset < end; ++segment) {
      const std::uint64_t from = std::max(at, segment->offset);
      const std::uint64_t to = std::min(end, segment->offset + segment->bytes);
      if (from < to) {
        checker.add(*segment, from - segment->offset,
                    std::span(staging_.data() + (from - at), to - from));
      }
      if (segment->offset + segment->bytes > end) break;  // continues in the next piece
    }
  }
  if (guard_at != bytes) return read_guard(slot);
  return check_guard(team_.rank, guard_at, std::span(staging_.data() + held, kGuardBytes));
}

std::optional<Wrong> Member::read_guard(std::uint32_t slot) {
  const std::uint64_t guard_at = layout_.result_buffer_bytes() - layout_.receive_offset;
  const std::span<std::byte> guard(staging_.data(), kGuardBytes);
  engine_.read(SlotBuffer::receive, slot, layout_.receive_offset + guard_at, guard, deadline());
  return check_guard(team_.rank, guard_at, guard);
}

/// `filled`: the iteration whose input the slot has; `last`: the one that was done there last.
void Member::check_slot(std::uint32_t slot, std::uint64_t filled, std::uint64_t last, bool results,
                        Checked& checked) {
  Checker checker(row_.call, team_, in_run(filled), layout_.receive_offset, held_[slot]);
  const std::optional<Wrong> past_the_end = results ? read_result(slot, checker) : read_guard(slot);
  if (past_the_end) write_guards(slot, 1);  // for the next operation
  const bool right_now = checker.wrong_elements() == 0 && !past_the_end;
  if (right_now && options_.check_by_cpu) return;
  if (!results) ++checked.operations;  // of those where only the guard counts, the wrong ones
  ++checked.wrong_operations;
  checked.wrong_elements += right_now ? 1 : checker.wrong_elements();
  if (past_the_end) {
    const std::uint64_t element = bytes_of(row_.call.type);
    checked.wrong_elements += (past_the_end->run_bytes + element - 1) / element;
  }
  if (checked.first && checked.first->iteration < last) return;
  checked.first = checker.first() ? checker.first() : past_the_end;
  if (right_now) {
    // As data looks that arrives after the operation is done: a flush is missing, or it was called
    // done early.
    checked.first = Wrong{.run_bytes = layout_.receive_bytes,
                          .pattern = "late: right when it was read again",
                          .expected = "unknown",
                          .actual = "unknown"};
  }
  checked.first->iteration = last;
}

/// Those that do not depend on what is measured.
report::Facts Member::facts() const {
  report::Facts facts = options_.facts;
  facts.push_back({"yields_while_waiting", yields_});
  if (const auto devices = report::count_rdma_devices(options_.root)) {
    facts.push_back({"rdma_devices", *devices});
  }
  for (report::Fact& fact : engine_.facts()) facts.push_back(std::move(fact));
  return facts;
}

std::string Member::end() {
  RankReport report;
  report.facts = facts();
  for (report::Fact& fact : engine_.call_facts()) {  // those of all connections of this rank by now
    if (fact.name.starts_with("routes") || fact.name.starts_with("gpudirect")) {
      report.facts.push_back(std::move(fact));
    }
  }
  health::RunConditions conditions = watch_->end();
  report.counters = std::move(conditions.counters);
  report.notes = std::move(conditions.notes);
  group_.state().enter(Phase::closing);
  return to_text(report);
}

}  // namespace rdmabench::inline v1::collective
