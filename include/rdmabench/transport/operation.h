// transport: how one endpoint posts work to its peer and polls for completions.
//
// A back end is a folder here: loop/, verbs/, ofi/, ucx/. It throws only in set-up. Posting and
// polling neither allocate, lock, throw nor call virtually, and test no option; a back end never
// reads a clock and never prints. This file names the operations, one struct in one list, and the
// services that carry them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "rdmabench/features.h"

namespace rdmabench::inline v1::transport {

enum class OperationCode : std::uint8_t {
  send,
  write,
  write_imm,
  read,
  send_imm,
  fetch_add,
  compare_swap,
  atomic_write,
  flush
};

/// Defaults, which describe a plain write.
struct OneSided {
  static constexpr bool kTwoSided = false;    ///< the target supplies the buffer: a posted receive
  static constexpr bool kImmediate = false;   ///< carries 32 bits for the target's completion
  static constexpr bool kNotifies = false;    ///< the target gets a completion for it
  static constexpr bool kFromTarget = false;  ///< the initiator's completion brings data back
  /// Acts on 8 aligned bytes of the target's window and brings back what they were.
  static constexpr bool kAtomic = false;
  /// Does nothing where those bytes are not `word`, so that it rests on the one before it.
  static constexpr bool kConditional = false;
  /// The target's device sends a response, not only an ACK: `outstanding_reads` (max_rd_atomic)
  /// limits how many are outstanding.
  static constexpr bool kAnswered = false;
  /// Carries no data: completes when earlier writes to that range are globally visible. run() and
  /// google_benchmark::add() post a write before each flush; a loop of your own does it itself.
  static constexpr bool kFlushes = false;
  static constexpr bool kExtended = false;    ///< only ibv_wr_post(3) has it, on RC queue pairs
  static constexpr std::uint64_t kBytes = 0;  ///< of every message; 0: the caller's choice
};

struct Send : OneSided {
  static constexpr OperationCode kCode = OperationCode::send;
  static constexpr std::string_view kName = "send";
  static constexpr bool kTwoSided = true, kNotifies = true;
};
struct Write : OneSided {
  static constexpr OperationCode kCode = OperationCode::write;
  static constexpr std::string_view kName = "write";
};
struct WriteImm : OneSided {
  static constexpr OperationCode kCode = OperationCode::write_imm;
  static constexpr std::string_view kName = "write-imm";
  static constexpr bool kImmediate = true, kNotifies = true;
};
struct Read : OneSided {
  static constexpr OperationCode kCode = OperationCode::read;
  static constexpr std::string_view kName = "read";
  static constexpr bool kFromTarget = true, kAnswered = true;
};
struct SendImm : OneSided {
  static constexpr OperationCode kCode = OperationCode::send_imm;
  static constexpr std::string_view kName = "send-imm";
  static constexpr bool kTwoSided = true, kImmediate = true, kNotifies = true;
};
/// Adds 1.
struct FetchAdd : OneSided {
  static constexpr OperationCode kCode = OperationCode::fetch_add;
  static constexpr std::string_view kName = "fetch-add";
  static constexpr bool kFromTarget = true, kAnswered = true, kAtomic = true;
  static constexpr std::uint64_t kBytes = 8;
};
/// Compares the target's 8 bytes with `word`; if they are equal, stores `word` + 1.
struct CompareSwap : OneSided {
  static constexpr OperationCode kCode = OperationCode::compare_swap;
  static constexpr std::string_view kName = "compare-swap";
  static constexpr bool kFromTarget = true, kAnswered = true, kAtomic = true, kConditional = true;
  static constexpr std::uint64_t kBytes = 8;
};
/// Writes 8 aligned bytes that no reader sees in parts. Source: InfiniBand Architecture
/// Specification, volume 1, annex A19; ibv_wr_post(3).
struct AtomicWrite : OneSided {
  static constexpr OperationCode kCode = OperationCode::atomic_write;
  static constexpr std::string_view kName = "atomic-write";
  static constexpr bool kAnswered = true, kExtended = true;
  static constexpr std::uint64_t kBytes = 8;
};
/// `remote` and `bytes` say which part of the window. Only "global visibility" is asked for, not
/// persistence. Source: as above; ibv_wr_flush() came with rdma-core 47.
struct Flush : OneSided {
  static constexpr OperationCode kCode = OperationCode::flush;
  static constexpr std::string_view kName = "flush";
  static constexpr bool kAnswered = true, kFlushes = true, kExtended = true;
};

template <class... Ops>
struct OperationList {
  static constexpr std::size_t kCount = sizeof...(Ops);
};

/// All operations, in the order of their codes. Names, predicates, the table of loops, the command
/// line and its help are made from this list.
using Operations =
    OperationList<Send, Write, WriteImm, Read, SendImm, FetchAdd, CompareSwap, AtomicWrite, Flush>;

/// The traits of an operation as values.
struct OperationTraits {
  std::string_view name;
  bool two_sided;
  bool immediate;
  bool notifies;
  bool from_target;
  bool atomic;
  bool conditional;
  bool answered;
  bool flushes;
  bool extended;
  std::uint64_t bytes;
};

inline constexpr auto kOperations = []<class... Ops>(OperationList<Ops...>) {
  std::array<OperationTraits, sizeof...(Ops)> all{};
  ((all[static_cast<std::size_t>(Ops::kCode)] = {Ops::kName, Ops::kTwoSided, Ops::kImmediate,
                                                 Ops::kNotifies, Ops::kFromTarget, Ops::kAtomic,
                                                 Ops::kConditional, Ops::kAnswered, Ops::kFlushes,
                                                 Ops::kExtended, Ops::kBytes}),
   ...);
  return all;
}(Operations{});

inline constexpr auto kOperationNames = [] {
  std::array<std::string_view, Operations::kCount> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kOperations[i].name;
  return names;
}();

inline constexpr std::uint64_t kAtomicBytes = 8;

constexpr const OperationTraits& traits(OperationCode code) {
  return kOperations[static_cast<std::size_t>(code)];
}
constexpr std::string_view name(OperationCode code) {
  return traits(code).name;
}
constexpr bool is_atomic(OperationCode code) {
  return traits(code).atomic;
}
/// The initiator's own completion says that its data has come: reads and atomics.
constexpr bool is_from_target(OperationCode code) {
  return traits(code).from_target;
}
/// The target supplies the buffer.
constexpr bool is_two_sided(OperationCode code) {
  return traits(code).two_sided;
}
/// Its latency ends with the initiator's own completion, and not with the target's answer.
constexpr bool is_timed_by_completion(OperationCode code) {
  return traits(code).from_target || traits(code).flushes;
}
/// Posts that a message of a test takes: a flush follows a write.
constexpr std::uint32_t posts_of_message(OperationCode code) {
  return traits(code).flushes ? 2 : 1;
}
/// The target's device answers it: reads and atomics among others.
constexpr bool is_answered(OperationCode code) {
  return traits(code).answered;
}
/// Only ibv_wr_post(3) has it, on RC queue pairs.
constexpr bool is_extended(OperationCode code) {
  return traits(code).extended;
}
/// Acts on an aligned word, and on no other length: atomics and atomic writes.
constexpr bool acts_on_word(OperationCode code) {
  return traits(code).bytes != 0;
}
/// The target gets a completion for each.
constexpr bool notifies(OperationCode code) {
  return traits(code).notifies;
}
/// Puts bytes of any number into the target's window.
constexpr bool is_write(OperationCode code) {
  const OperationTraits& one = traits(code);
  return !one.two_sided && !one.from_target && !one.flushes && one.bytes == 0;
}
/// The target is told nothing: it sees the bytes by polling its memory, and only the initiator's
/// completion says that they arrived.
constexpr bool is_plain_write(OperationCode code) {
  return is_write(code) && !notifies(code);
}

/// The operations that an endpoint is opened for.
class OperationSet {
 public:
  // One operation is a set, as in `request.operations = OperationCode::send`.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr OperationSet(OperationCode code) : bits_(bit(code)) {}
  constexpr OperationSet(std::initializer_list<OperationCode> codes) {
    for (const OperationCode code : codes) bits_ |= bit(code);
  }

  constexpr void add(OperationCode code) noexcept { bits_ |= bit(code); }
  constexpr bool has(OperationCode code) const noexcept { return (bits_ & bit(code)) != 0; }

  template <class Predicate>
  constexpr bool any(Predicate&& predicate) const {
    for (std::size_t i = 0; i < Operations::kCount; ++i) {
      const auto code = static_cast<OperationCode>(i);
      if (has(code) && predicate(code)) return true;
    }
    return false;
  }

  constexpr bool operator==(const OperationSet&) const = default;

 private:
  static constexpr std::uint32_t bit(OperationCode code) noexcept {
    return 1U << static_cast<unsigned>(code);
  }

  std::uint32_t bits_ = 0;
};

/// Whether an endpoint that was opened for `operations` and `max_size` may post such a message. A
/// send of 0 bytes is always permitted.
constexpr bool permits(OperationSet operations, std::uint64_t max_size, OperationCode code,
                       std::uint64_t bytes) noexcept {
  if (code == OperationCode::send && bytes == 0) return true;
  const std::uint64_t fixed = traits(code).bytes;
  return operations.has(code) && (fixed != 0 ? bytes == fixed : bytes <= max_size);
}

/// `automatic`: the back end's usual one, RC, RDM or tagged messages. rc to srd are verbs' queue
/// pair types, rdm and msg libfabric's endpoint types, am are active messages of UCX.
enum class Service : std::uint8_t { automatic, rc, uc, ud, xrc, dc, srd, rdm, msg, am };

inline constexpr std::array<std::string_view, 10> kServiceNames{"auto", "rc",  "uc",  "ud",  "xrc",
                                                                "dc",   "srd", "rdm", "msg", "am"};

constexpr std::string_view name(Service service) {
  return kServiceNames[static_cast<std::size_t>(service)];
}

/// Lost messages are sent again until they arrive or the connection fails.
constexpr bool is_reliable(Service service) {
  return service != Service::uc && service != Service::ud;
}

/// Whether a service has an operation at all. Source: InfiniBand Architecture Specification,
/// volume 1, table "Service types and operations"; efadv_create_qp_ex(3) for SRD.
constexpr bool has_operation(Service service, OperationCode code) {
  if (is_extended(code)) return service == Service::automatic || service == Service::rc;
  switch (service) {
    case Service::uc:
      return !is_answered(code);
    case Service::ud:
    case Service::am:
      return is_two_sided(code);
    case Service::srd:
      return !is_atomic(code);
    default:
      return true;
  }
}

struct EndpointRequest;

/// What an open endpoint takes of a process besides the memory of its messages.
struct Footprint {
  std::uint64_t memory = 0;  ///< bytes
  std::uint64_t descriptors = 0;
};

/// What a back end tells of itself, whether this build has it or not.
struct BackendRow {
  std::string_view name{};              ///< "verbs"; a literal
  std::string_view needs{};             ///< the libraries that a build must have; "" = none
  std::span<const Service> services{};  ///< those that no other back end has
  bool reaches_others = true;           ///< other processes, and not this one alone
  /// Whether a request has an option of this back end alone, besides its services.
  bool (*has_own_option)(const EndpointRequest& request) = nullptr;
  /// 'auto' takes it only for an option of its own: it uses what other back ends measure directly.
  bool only_named = false;
};

}  // namespace rdmabench::inline v1::transport
