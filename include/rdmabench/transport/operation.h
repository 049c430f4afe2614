// transport: how one endpoint posts work to its peer and polls for completions.
//
// A back end is a folder here: loop/, verbs/, ofi/. It sets up with exceptions and then posts and
// polls without: no allocation, lock, virtual call or test of an option. It never reads a clock,
// and never prints. This file names the operations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rdmabench::transport {

enum class OperationCode : std::uint8_t {
  send,
  write,
  write_imm,
  read,
  send_imm,
  fetch_add,
  compare_swap
};

// One struct per operation: its name on the command line and what it does to the target.
//   kTwoSided:   the target supplies the buffer, by a posted receive
//   kImmediate:  carries 32 bits that the target reads from its completion
//   kNotifies:   the target gets a completion for it
//   kFromTarget: data travels from the target to the initiator
//   kAtomic:     acts on 8 bytes of the target's window and brings back what they were

struct Send {
  static constexpr OperationCode kCode = OperationCode::send;
  static constexpr std::string_view kName = "send";
  static constexpr bool kTwoSided = true, kImmediate = false, kNotifies = true, kFromTarget = false,
                        kAtomic = false;
};
struct Write {
  static constexpr OperationCode kCode = OperationCode::write;
  static constexpr std::string_view kName = "write";
  static constexpr bool kTwoSided = false, kImmediate = false, kNotifies = false,
                        kFromTarget = false, kAtomic = false;
};
struct WriteImm {
  static constexpr OperationCode kCode = OperationCode::write_imm;
  static constexpr std::string_view kName = "write-imm";
  static constexpr bool kTwoSided = false, kImmediate = true, kNotifies = true, kFromTarget = false,
                        kAtomic = false;
};
struct Read {
  static constexpr OperationCode kCode = OperationCode::read;
  static constexpr std::string_view kName = "read";
  static constexpr bool kTwoSided = false, kImmediate = false, kNotifies = false,
                        kFromTarget = true, kAtomic = false;
};
struct SendImm {
  static constexpr OperationCode kCode = OperationCode::send_imm;
  static constexpr std::string_view kName = "send-imm";
  static constexpr bool kTwoSided = true, kImmediate = true, kNotifies = true, kFromTarget = false,
                        kAtomic = false;
};
/// Adds 1.
struct FetchAdd {
  static constexpr OperationCode kCode = OperationCode::fetch_add;
  static constexpr std::string_view kName = "fetch-add";
  static constexpr bool kTwoSided = false, kImmediate = false, kNotifies = false,
                        kFromTarget = true, kAtomic = true;
};
/// Replaces the word of the post by that word plus 1: it succeeds where the target held the word.
struct CompareSwap {
  static constexpr OperationCode kCode = OperationCode::compare_swap;
  static constexpr std::string_view kName = "compare-swap";
  static constexpr bool kTwoSided = false, kImmediate = false, kNotifies = false,
                        kFromTarget = true, kAtomic = true;
};

inline constexpr std::array kOperationNames{Send::kName,       Write::kName,   WriteImm::kName,
                                            Read::kName,       SendImm::kName, FetchAdd::kName,
                                            CompareSwap::kName};

inline constexpr std::uint64_t kAtomicBytes = 8;

constexpr std::string_view name(OperationCode code) {
  return kOperationNames[static_cast<std::size_t>(code)];
}

constexpr bool is_atomic(OperationCode code) {
  return code == OperationCode::fetch_add || code == OperationCode::compare_swap;
}

/// The initiator's own completion says that its data has come: reads and atomics.
constexpr bool is_from_target(OperationCode code) {
  return code == OperationCode::read || is_atomic(code);
}

/// The target supplies the buffer.
constexpr bool is_two_sided(OperationCode code) {
  return code == OperationCode::send || code == OperationCode::send_imm;
}

/// The target gets a completion for each.
constexpr bool notifies(OperationCode code) {
  return code == OperationCode::send || code == OperationCode::send_imm ||
         code == OperationCode::write_imm;
}

}  // namespace rdmabench::transport
