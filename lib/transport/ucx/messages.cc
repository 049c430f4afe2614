#include "messages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/walk.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::transport::ucx {
namespace {

using Json = nlohmann::json;  // it sorts the keys of what is sent

constexpr std::size_t kMaxTransports = 64;
constexpr std::uint32_t kMaxQueuePairs = 65536;

[[noreturn]] void refuse(std::string_view what) {
  throw Error(Fault::failed, what, "Run the same release of rdmabench on both sides.");
}

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

int nibble(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  refuse("bytes of UCX that are not hexadecimal");
}

std::string from_hex(std::string_view text) {
  if (text.empty() || text.size() % 2 != 0) {
    refuse(fmt::format("bytes of UCX in {} digits", text.size()));
  }
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<char>(nibble(text[i]) << 4 | nibble(text[i + 1]));
  }
  return bytes;
}

void opaque(MessageFields& fields, const char* key, std::string& bytes, std::size_t most) {
  if (fields.from() == nullptr) bytes = to_hex(bytes);
  fields.text(key, bytes, 2 * most);
  if (fields.from() != nullptr) bytes = from_hex(bytes);
}

}  // namespace

void walk(MessageFields& fields, Offer& offer) {
  fields.text("version", offer.version);
  if (offer.transports.size() > kMaxTransports) offer.transports.resize(kMaxTransports);
  fields.texts("transports", kMaxTransports, kMaxName, offer.transports);
}

void walk(MessageFields& fields, PeerRegion& region) {
  fields.number("base", region.base);
  fields.number("bytes", 1, ~std::uint64_t{0} - region.base, region.bytes);
  opaque(fields, "key", region.key, kMaxKey);
}

void walk(MessageFields& fields, Address& address) {
  fields.text("version", address.version);
  opaque(fields, "worker", address.worker, kMaxWorkerAddress);
  fields.number("queue_pairs", 1, kMaxQueuePairs, address.queue_pairs);
  fields.name("service", kServiceNames, address.service);
  fields.list("regions", kMaxRegions, address.regions);
  if (address.regions.empty()) refuse("an address of UCX without a window");
}

std::string write_offer(const Offer& offer) {
  return Json(write_fields(offer)).dump();
}

Offer read_offer(std::string_view text) {
  return read_object(text, "the peer's UCX offer", kMaxValues, read_fields<Offer>);
}

std::string write_address(const Address& address) {
  return Json(write_fields(address)).dump();
}

Address read_address(std::string_view text) {
  return read_object(text, "the peer's UCX address", kMaxValues, read_fields<Address>);
}

}  // namespace rdmabench::inline v1::transport::ucx
