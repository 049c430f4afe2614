#include "messages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/walk.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

using Json = nlohmann::json;  // it sorts the keys of what is sent

constexpr std::size_t kMaxFits = 256;

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

}  // namespace

void walk(MessageFields& fields, Fit& fit) {
  fields.text("provider", fit.provider);
  fields.text("domain", fit.domain);
  fields.text("fabric", fit.fabric);
  fields.text("source", fit.source);
  fields.number("protocol", fit.protocol);
  fields.number("protocol_version", fit.protocol_version);
  fields.number("addr_format", fit.addr_format);
}

void walk(MessageFields& fields, Offer& offer) {
  fields.text("host", offer.host);
  if (offer.fits.size() > kMaxFits) offer.fits.resize(kMaxFits);
  fields.list("fits", kMaxFits, offer.fits);
}

void walk(MessageFields& fields, PeerRegion& region) {
  fields.number("base", region.base);
  fields.number("bytes", 1, ~std::uint64_t{0} - region.base, region.bytes);
  fields.number("key", region.key);
}

void walk(MessageFields& fields, Address& address) {
  fields.text("provider", address.provider);
  fields.number("protocol", address.protocol);
  fields.number("protocol_version", address.protocol_version);
  fields.number("addr_format", address.addr_format);
  for (std::string& name : address.names) name = to_hex(name);
  fields.texts("names", kMaxNames, 2 * kMaxEndpointName, address.names);
  for (std::string& name : address.names) name = from_hex(name);
  fields.number("ticket", address.ticket);
  fields.number("window_base", address.window_base);
  fields.number("window_bytes", 0, ~std::uint64_t{0} - address.window_base, address.window_bytes);
  fields.number("window_key", address.window_key);
  // Who has none says nothing.
  const bool writes = fields.from() == nullptr;
  if (writes ? !address.more_regions.empty() : !fields.lacks("regions")) {
    fields.list("regions", kMaxRegions - 1, address.more_regions);
  }
}

std::string write_offer(const Offer& offer) {
  return Json(write_fields(offer)).dump();
}

Offer read_offer(std::string_view text) {
  return read_object(text, "the peer's libfabric offer", kMaxValues, read_fields<Offer>);
}

std::string write_fit(const Fit& fit) {
  return Json(write_fields(fit)).dump();
}

Fit read_fit(std::string_view text) {
  return read_object(text, "the libfabric choice", kMaxValues, read_fields<Fit>);
}

std::string write_address(const Address& address) {
  return Json(write_fields(address)).dump();
}

Address read_address(std::string_view text) {
  return read_object(text, "the peer's libfabric address", kMaxValues, read_fields<Address>);
}

}  // namespace rdmabench::inline v1::transport::ofi
