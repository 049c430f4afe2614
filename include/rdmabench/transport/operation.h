// transport: how one endpoint posts work to its peer and polls for completions.
//
// A back end is a folder here: loop/, verbs/, ofi/. It sets up with exceptions and then posts and
// polls without: no allocation, lock, virtual call or test of an option. It never reads a clock,
// and never prints. This file names the operations.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rdmabench::transport {

enum class OperationCode : std::uint8_t { send, write, write_imm, read };

// One struct per operation: its name on the command line and what it does to the target.
//   kTwoSided:  the target supplies the buffer, by a posted receive
//   kImmediate: carries 32 bits that the target reads from its completion
//   kNotifies:  the target gets a completion for it
//   kFromTarget: the data travels from the target to the initiator

struct Send {
  static constexpr OperationCode kCode = OperationCode::send;
  static constexpr std::string_view kName = "send";
  static constexpr bool kTwoSided = true, kImmediate = false, kNotifies = true, kFromTarget = false;
};
struct Write {
  static constexpr OperationCode kCode = OperationCode::write;
  static constexpr std::string_view kName = "write";
  static constexpr bool kTwoSided = false, kImmediate = false, kNotifies = false,
                        kFromTarget = false;
};
struct WriteImm {
  static constexpr OperationCode kCode = OperationCode::write_imm;
  static constexpr std::string_view kName = "write-imm";
  static constexpr bool kTwoSided = false, kImmediate = true, kNotifies = true, kFromTarget = false;
};
struct Read {
  static constexpr OperationCode kCode = OperationCode::read;
  static constexpr std::string_view kName = "read";
  static constexpr bool kTwoSided = false, kImmediate = false, kNotifies = false,
                        kFromTarget = true;
};

inline constexpr std::array kOperationNames{Send::kName, Write::kName, WriteImm::kName,
                                            Read::kName};

constexpr std::string_view name(OperationCode code) {
  return kOperationNames[static_cast<std::size_t>(code)];
}

}  // namespace rdmabench::transport
