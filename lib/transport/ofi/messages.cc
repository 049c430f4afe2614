#include "messages.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "rdmabench/base/error.h"

namespace rdmabench::transport::ofi {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFits = 256;
constexpr std::size_t kMaxString = 256;

[[noreturn]] void refuse(std::string_view what) {
  throw Error(Fault::failed, what, "Run the same release of rdmabench on both sides.");
}

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::uint8_t nibble(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<std::uint8_t>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<std::uint8_t>(digit - 'a' + 10);
  refuse("a name that is not hexadecimal");
}

std::string from_hex(std::string_view text) {
  if (text.empty() || text.size() % 2 != 0) {
    refuse(fmt::format("a name of {} digits", text.size()));
  }
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<char>(nibble(text[i]) << 4 | nibble(text[i + 1]));
  }
  return bytes;
}

Json to_json(const Fit& fit) {
  return {{"provider", fit.provider},      {"domain", fit.domain},
          {"fabric", fit.fabric},          {"source", fit.source},
          {"protocol", fit.protocol},      {"protocol_version", fit.protocol_version},
          {"addr_format", fit.addr_format}};
}

Fit to_fit(const Json& json) {
  return {.provider = get_string(json, "provider", kMaxString),
          .domain = get_string(json, "domain", kMaxString),
          .fabric = get_string(json, "fabric", kMaxString),
          .source = get_string(json, "source", kMaxString),
          .protocol = get_uint<std::uint32_t>(json, "protocol"),
          .protocol_version = get_uint<std::uint32_t>(json, "protocol_version"),
          .addr_format = get_uint<std::uint32_t>(json, "addr_format")};
}

}  // namespace

std::string write_offer(const Offer& offer) {
  Json fits = Json::array();
  for (const Fit& fit : offer.fits) {
    if (fits.size() < kMaxFits) fits.push_back(to_json(fit));
  }
  return Json{{"host", offer.host}, {"fits", fits}}.dump();
}

Offer read_offer(std::string_view text) {
  return read_object(text, "the peer's libfabric offer", kMaxValues, [](const Json& json) {
    Offer offer{.host = get_string(json, "host", kMaxString), .fits = {}};
    for (const Json& fit : get_list(json, "fits", kMaxFits)) offer.fits.push_back(to_fit(fit));
    return offer;
  });
}

std::string write_fit(const Fit& fit) {
  return to_json(fit).dump();
}

Fit read_fit(std::string_view text) {
  return read_object(text, "the libfabric choice", kMaxValues, to_fit);
}

std::string write_address(const Address& address) {
  Json names = Json::array();
  for (const std::string& name : address.names) names.push_back(to_hex(name));
  return Json{{"provider", address.provider},
              {"protocol", address.protocol},
              {"protocol_version", address.protocol_version},
              {"addr_format", address.addr_format},
              {"names", names},
              {"ticket", address.ticket},
              {"window_base", address.window_base},
              {"window_bytes", address.window_bytes},
              {"window_key", address.window_key}}
      .dump();
}

Address read_address(std::string_view text) {
  return read_object(text, "the peer's libfabric address", kMaxValues, [](const Json& json) {
    Address address{.provider = get_string(json, "provider", kMaxString),
                    .protocol = get_uint<std::uint32_t>(json, "protocol"),
                    .protocol_version = get_uint<std::uint32_t>(json, "protocol_version"),
                    .addr_format = get_uint<std::uint32_t>(json, "addr_format"),
                    .names = {},
                    .ticket = get_uint<std::uint64_t>(json, "ticket"),
                    .window_base = get_uint<std::uint64_t>(json, "window_base"),
                    .window_bytes = get_uint<std::uint64_t>(json, "window_bytes"),
                    .window_key = get_uint<std::uint64_t>(json, "window_key")};
    for (const Json& name : get_list(json, "names", kMaxNames)) {
      if (!name.is_string()) refuse("'names' has one that is not a string");
      const auto& digits = name.get_ref<const std::string&>();
      if (digits.size() > 2 * kMaxEndpointName) {
        refuse(
            fmt::format("a name of {} digits, of at most {}", digits.size(), 2 * kMaxEndpointName));
      }
      address.names.push_back(from_hex(digits));
    }
    if (address.window_bytes > std::numeric_limits<std::uint64_t>::max() - address.window_base) {
      refuse(
          fmt::format("a window of {} bytes at {:#x}", address.window_bytes, address.window_base));
    }
    return address;
  });
}

}  // namespace rdmabench::transport::ofi
