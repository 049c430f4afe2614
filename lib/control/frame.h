// How a message travels: a header of 12 bytes, big-endian, and then the payload.
//
//   0  "RDMB"    4  u16 protocol version    6  u16 message code    8  u32 payload length in bytes
//
// Once both ends have proved who they are, 16 bytes behind the header and 16 behind the payload
// prove the same of each (seal.h): a length is believed only then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::control {

inline constexpr std::size_t kHeaderBytes = 12;
/// Of those without a protocol: abort and the messages of the handshake (handshake.h).
inline constexpr std::uint16_t kLastCommonCode = 6;

struct Header {
  MessageType type;
  std::uint32_t length;  ///< payload bytes, 0..kMaxPayload
};

std::array<char, kHeaderBytes> encode_header(Header header) noexcept;

enum class HeaderFault : std::uint8_t {
  none,
  incomplete,     ///< good so far; more bytes are needed
  foreign,        ///< the first bytes are not "RDMB"
  other_version,  ///< not kProtocolVersion; the rest of the header was not read
  unknown_type,   ///< neither abort nor a code of a Protocol
  too_long,       ///< more than the limit
};

struct DecodedHeader {
  HeaderFault fault;
  std::uint32_t value;  ///< at fault: the first four bytes, the version, the code or the length
  Header header{MessageType(0), 0};  ///< meaningful when `fault` is none
};

/// Reads the header at the start of `bytes`. Foreign bytes are detected from the fourth on, so that
/// a peer of another kind need not send twelve.
DecodedHeader decode_header(std::string_view bytes,
                            std::uint32_t max_payload = kMaxPayload) noexcept;

/// The peer answered something other than what was due, such as an abort: it would say so again. A
/// connection that breaks is another Error.
class Refusal : public Error {
 public:
  using Error::Error;
};

/// The peer sent an abort.
class GaveUp : public Refusal {
 public:
  /// `peer`: "HOST:PORT". `reason` is printable.
  GaveUp(std::string_view peer, std::string reason);
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::string reason_;
};

/// What to tell the user about a header with a fault (not `none`, not `incomplete`) that came from
/// `peer`, "HOST:PORT".
Refusal header_error(const DecodedHeader& decoded, std::string_view peer,
                     std::uint32_t max_payload = kMaxPayload);

}  // namespace rdmabench::inline v1::control
