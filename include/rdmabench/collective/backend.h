// The contract between the tester and a library of collectives.
//
// The tester is a template over the back end and is compiled once for each: start() and test() are
// called in the timed loop, and nothing there is virtual, allocates or throws.
//
// The life of one: constructed with its own options; open(); then for each call prepare(), write()
// of the inputs, start() and test(), read() of the results; close(). After a failure abort(), and
// only destruction after that.
//
// Slots: every operation that is timed is also checked, without a check between two of them. So
// prepare() makes `slots` buffers of one layout, operation i of an epoch works in slot i, and the
// tester writes all inputs before the epoch and reads all results after it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/collective/call.h"
#include "rdmabench/report/fact.h"

namespace rdmabench::collective {

/// How ranks tell one another what a library needs before it can (NCCL's unique id). Collective:
/// every rank makes the same calls in the same order. Texts may hold any bytes, 64 KiB at most.
/// Throws Error(failed) naming the rank that did not come by the deadline.
class Exchange {
 public:
  virtual ~Exchange() = default;
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// What every rank gave, by rank, on every rank.
  virtual std::vector<std::string> all_gather(std::string_view mine, Deadline deadline) = 0;
  /// Rank 0's, on every rank; the others' is ignored.
  virtual std::string broadcast(std::string_view of_rank_0, Deadline deadline) = 0;
};

enum class Progress : std::uint8_t {
  again,  ///< not yet: ask again
  done,
  failed,  ///< failure() says why; nothing more can be started
};

/// Bytes behind every slot's result (in place: behind its buffer) that are no operation's: what the
/// tester writes there has to be there afterwards. What lies before a slot is the end of the one
/// before it: where sizes are multiples of a slot's alignment, its guard.
inline constexpr std::uint64_t kGuardBytes = 64;

/// Which of a slot's buffers. In place both are the one.
enum class SlotBuffer : std::uint8_t { send, receive };

/// Thread rule: all calls from one thread, but abort() may come from another.
template <class B>
concept Backend = requires(B backend, const B constant, Team team, Exchange& exchange,
                           const Call& call, Deadline deadline, SlotBuffer side, std::uint32_t slot,
                           std::uint64_t offset, std::span<const std::byte> from,
                           std::span<std::byte> to) {
  /// "nccl", "mpi"
  { B::kName } -> std::convertible_to<std::string_view>;

  /// Joins the others. `exchange` stays for prepare(), which all ranks do together. Throws Error:
  /// unavailable (no such library: what was looked for and where), failed (it would not; the
  /// deadline).
  { backend.open(team, exchange, deadline) } -> std::same_as<void>;

  // From here on after open().

  /// Why this call cannot be, as a sentence that names the type, the reduction or the place; ""
  /// where it can. The same on every rank. Pure.
  { constant.unsupported(call) } -> std::same_as<std::string>;

  /// Where this back end has inputs and results; nccl_layout() unless it differs. Pure.
  { constant.layout(call) } -> std::same_as<Layout>;

  /// Makes `slots` >= 1 buffers (zero where they are new, aligned to 64 bytes or more, and with
  /// kGuardBytes behind what layout() says of SlotBuffer::receive) and all that start() needs. What
  /// an earlier prepare() made is gone or used again. Nothing may be outstanding. Throws Error.
  { backend.prepare(call, slot, deadline) } -> std::same_as<void>;

  /// Copies host bytes into (out of) a slot's buffer, `offset` from that buffer's beginning
  /// (so the input is at layout().send_offset); the guard is reached too. Done when it returns.
  /// Throws Error.
  { backend.write(side, slot, offset, from, deadline) } -> std::same_as<void>;
  { backend.read(side, slot, offset, to, deadline) } -> std::same_as<void>;

  /// Begins the prepared call in this slot; never waits. Several may be outstanding, each in a
  /// slot of its own, and are done in order. False: failure() says why.
  { backend.start(slot) }
  noexcept->std::same_as<bool>;

  /// Whether all that were started are done. Makes progress; never waits.
  { backend.test() }
  noexcept->std::same_as<Progress>;

  { constant.failure() } -> std::same_as<std::string>;

  /// Gives up whatever is outstanding. Afterwards the destructor waits for nothing.
  { backend.abort() }
  noexcept->std::same_as<void>;

  /// Leaves in good order, all ranks together. Throws Error.
  { backend.close(deadline) } -> std::same_as<void>;

  /// Of the whole run: library, version, network plugin, device, ... After open().
  { constant.facts() } -> std::same_as<report::Facts>;

  /// Of the prepared call, as far as the library tells: algorithm, protocol, channels,
  /// gpudirect. May differ once it has run: asked after the row.
  { constant.call_facts() } -> std::same_as<report::Facts>;
};

}  // namespace rdmabench::collective
