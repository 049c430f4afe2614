// The rate of a PCIe link, as sysfs tells it.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmabench::inline v1 {

/// 0 for unknown values.
struct PciLink {
  double gigatransfers = 0;  ///< per second and lane
  std::uint32_t width = 0;   ///< lanes

  bool known() const { return gigatransfers > 0 && width > 0; }
  /// The share left by the encoding: 8b/10b up to 5 GT/s, 128b/130b up to 32, 242/256 above.
  /// Source: PCI Express Base Specification 6.0, chapter 4.
  double gbps() const;
};

/// "16.0 GT/s PCIe" and "8 GT/s": 16 and 8. 0 for "Unknown".
double parse_link_speed(std::string_view text);

/// "16": 16. 0 for impossible widths, such as 255.
std::uint32_t parse_link_width(std::string_view text);

}  // namespace rdmabench::inline v1
