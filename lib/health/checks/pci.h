// The configuration space of a PCI function. Private to this room.
// Source: PCI Express Base Specification 6.0, chapter 7.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rdmabench::inline v1::health {

/// The readable part of a function's configuration space: 64 bytes without privilege.
class PciConfig {
 public:
  explicit PciConfig(std::string_view bytes) : bytes_(bytes) {}

  /// None beyond the readable part.
  std::optional<std::uint16_t> word(std::size_t offset) const;
  std::optional<std::uint32_t> dword(std::size_t offset) const;

  /// Whether the capabilities, and the extended ones, can be read.
  bool has_capabilities() const { return bytes_.size() >= 256; }
  bool has_extended() const { return bytes_.size() >= 4096; }

  /// The offset of a capability; none if absent.
  std::optional<std::size_t> capability(std::uint8_t id) const;
  std::optional<std::size_t> extended_capability(std::uint16_t id) const;

 private:
  std::string_view bytes_;
};

inline constexpr std::uint8_t kPciExpress = 0x10;
inline constexpr std::uint16_t kAccessControlServices = 0x0d;
inline constexpr std::uint16_t kAddressTranslation = 0x0f;

}  // namespace rdmabench::inline v1::health
