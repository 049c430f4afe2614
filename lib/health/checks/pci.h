// The configuration space of a PCI function, and the rate of its link. Private to this room.
// Source: PCI Express Base Specification 6.0, chapter 7.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rdmabench::health {

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

/// A link by sysfs; 0 for unknown values.
struct PciLink {
  double gigatransfers = 0;  ///< per second and lane
  std::uint32_t width = 0;   ///< lanes

  bool known() const { return gigatransfers > 0 && width > 0; }
  /// The share left by the encoding: 8b/10b up to 5 GT/s, 128b/130b up to 32, 242/256 above.
  double gbps() const;
};

/// "16.0 GT/s PCIe" and "8 GT/s": 16 and 8. 0 for "Unknown".
double parse_link_speed(std::string_view text);

/// "16": 16. 0 for impossible widths, such as 255.
std::uint32_t parse_link_width(std::string_view text);

}  // namespace rdmabench::health
