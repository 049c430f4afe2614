#include "frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rdmabench::inline v1::control {
namespace {

constexpr std::string_view kMagic = "RDMB";
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kTypeAt = 6;
constexpr std::size_t kLengthAt = 8;

/// Whether a protocol may have this code; which of its messages it is, the protocol knows.
bool is_known(std::uint32_t code) noexcept {
  const auto protocol = static_cast<Protocol>(code >> 8U);
  if (protocol == Protocol::common) return code >= kAbortCode && code <= kLastCommonCode;
  return protocol <= Protocol::netplugin || protocol == Protocol::user;
}

/// The big-endian number in `count` bytes; the caller has checked that they are there.
std::uint32_t read_number(std::string_view bytes, std::size_t at, std::size_t count) noexcept {
  std::uint32_t number = 0;
  for (const char byte : bytes.substr(at, count)) {
    number = number << 8U | static_cast<std::uint8_t>(byte);
  }
  return number;
}

void write_number(char* to, std::uint32_t number, std::size_t count) noexcept {
  for (std::size_t i = count; i-- > 0; number >>= 8U) to[i] = static_cast<char>(number & 0xffU);
}

}  // namespace

std::array<char, kHeaderBytes> encode_header(Header header) noexcept {
  std::array<char, kHeaderBytes> bytes{};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  write_number(&bytes[kVersionAt], kProtocolVersion, 2);
  write_number(&bytes[kTypeAt], header.type.code(), 2);
  write_number(&bytes[kLengthAt], header.length, 4);
  return bytes;
}

DecodedHeader decode_header(std::string_view bytes, std::uint32_t max_payload) noexcept {
  if (bytes.size() < kMagic.size()) return {HeaderFault::incomplete, 0};
  if (!bytes.starts_with(kMagic)) return {HeaderFault::foreign, read_number(bytes, 0, 4)};
  if (bytes.size() < kHeaderBytes) return {HeaderFault::incomplete, 0};

  const std::uint32_t version = read_number(bytes, kVersionAt, 2);
  if (version != kProtocolVersion) return {HeaderFault::other_version, version};
  const std::uint32_t type = read_number(bytes, kTypeAt, 2);
  if (!is_known(type)) return {HeaderFault::unknown_type, type};
  const std::uint32_t length = read_number(bytes, kLengthAt, 4);
  if (length > max_payload) return {HeaderFault::too_long, length};
  return {HeaderFault::none, 0, {MessageType(static_cast<std::uint16_t>(type)), length}};
}

GaveUp::GaveUp(std::string_view peer, std::string reason)
    : Refusal(Fault::failed, fmt::format("the peer {} gave up: {}", peer, reason)),
      reason_(std::move(reason)) {}

Refusal header_error(const DecodedHeader& decoded, std::string_view peer,
                     std::uint32_t max_payload) {
  const std::uint32_t value = decoded.value;
  std::string what = "sent an unreadable header";
  std::string_view remedy = "Install the same rdmabench on both sides.";
  switch (decoded.fault) {
    case HeaderFault::foreign:
      what = fmt::format(
          "does not speak the rdmabench protocol (first bytes {:02x} {:02x} {:02x} {:02x})",
          value >> 24U, value >> 16U & 0xffU, value >> 8U & 0xffU, value & 0xffU);
      remedy = "Is it 'rdmabench serve'?";
      break;
    case HeaderFault::other_version:
      what = fmt::format("speaks protocol version {}, this is version {}", value, kProtocolVersion);
      break;
    case HeaderFault::unknown_type:
      what = fmt::format("sent a message of the unknown type {}", value);
      break;
    case HeaderFault::too_long:
      what = fmt::format("announced a message of {} bytes; the limit is {}", value, max_payload);
      break;
    case HeaderFault::none:
    case HeaderFault::incomplete:
      break;
  }
  return {Fault::failed, fmt::format("the peer at {} {}", peer, what), remedy};
}

}  // namespace rdmabench::inline v1::control
