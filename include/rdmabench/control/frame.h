// control: how two processes talk before, between and after measurements, over TCP.
//
// It carries messages and knows nothing of what they say. A message travels as a frame: a header of
// 12 bytes, big-endian, and then the payload.
//
//   0  "RDMB"    4  u16 protocol version    6  u16 message type    8  u32 payload length in bytes
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rdmabench/base/error.h"

namespace rdmabench::control {

inline constexpr std::uint16_t kProtocolVersion = 1;
inline constexpr std::size_t kHeaderBytes = 12;
inline constexpr std::uint32_t kMaxPayload = 1U << 20;  ///< bytes

enum class MessageType : std::uint16_t {
  hello = 1,
  request,
  offer,
  choice,
  address,
  ready,
  epoch,
  result,
  abort,  ///< the sender gives up; the payload is its reason, as text
  bye,
};

/// "hello"; "unknown" for a number that is no message type.
std::string_view name_of(MessageType type) noexcept;

struct Header {
  MessageType type;
  std::uint32_t length;  ///< payload bytes, 0..kMaxPayload
};

std::array<char, kHeaderBytes> encode_header(Header header) noexcept;

enum class HeaderFault : std::uint8_t {
  none,
  incomplete,     ///< good so far; more bytes are needed
  foreign,        ///< the first bytes are not "RDMB"
  other_version,  ///< not kProtocolVersion; the rest of the header was not looked at
  unknown_type,
  too_long,  ///< more than kMaxPayload
};

struct DecodedHeader {
  HeaderFault fault;
  std::uint32_t value;  ///< at fault: the first four bytes, the version, the type or the length
  Header header;        ///< meaningful when `fault` is none
};

/// Reads the header at the start of `bytes`. Foreign bytes are told from the fourth on, so that a
/// peer of another kind need not send twelve.
DecodedHeader decode_header(std::string_view bytes) noexcept;

/// What to tell the user about a header with a fault (not `none`, not `incomplete`) that came from
/// `peer`, "HOST:PORT".
Error header_error(const DecodedHeader& decoded, std::string_view peer);

}  // namespace rdmabench::control
