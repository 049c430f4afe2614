#include "pci.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr std::size_t kCapabilityPointer = 0x34;
constexpr std::size_t kFirstExtended = 0x100;
constexpr int kMostCapabilities = 64;  // ends a circular list

}  // namespace

std::optional<std::uint16_t> PciConfig::word(std::size_t offset) const {
  if (offset + 2 > bytes_.size()) return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(bytes_[at]); };
  return static_cast<std::uint16_t>(byte(offset) | byte(offset + 1) << 8);
}

std::optional<std::uint32_t> PciConfig::dword(std::size_t offset) const {
  const auto low = word(offset);
  const auto high = word(offset + 2);
  if (!low || !high) return std::nullopt;
  return static_cast<std::uint32_t>(*low) | static_cast<std::uint32_t>(*high) << 16;
}

std::optional<std::size_t> PciConfig::capability(std::uint8_t id) const {
  if (!has_capabilities()) return std::nullopt;
  std::size_t at = *word(kCapabilityPointer) & 0xfcU;
  for (int i = 0; i < kMostCapabilities && at >= 0x40; ++i) {
    const auto header = word(at);
    if (!header) break;
    if ((*header & 0xffU) == id) return at;
    at = (*header >> 8) & 0xfcU;
  }
  return std::nullopt;
}

std::optional<std::size_t> PciConfig::extended_capability(std::uint16_t id) const {
  if (!has_extended()) return std::nullopt;
  std::size_t at = kFirstExtended;
  for (int i = 0; i < kMostCapabilities && at >= kFirstExtended; ++i) {
    const auto header = dword(at);
    if (!header || *header == 0 || *header == 0xffffffffU) break;
    if ((*header & 0xffffU) == id) return at;
    at = (*header >> 20) & 0xffcU;
  }
  return std::nullopt;
}

}  // namespace rdmabench::inline v1::health
