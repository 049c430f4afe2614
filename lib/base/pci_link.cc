#include "pci_link.h"

#include <charconv>
#include <system_error>

#include "base/number.h"

namespace rdmabench::inline v1 {

double PciLink::gbps() const {
  const double efficiency = gigatransfers <= 5    ? 8.0 / 10
                            : gigatransfers <= 32 ? 128.0 / 130
                                                  : 242.0 / 256;
  return gigatransfers * width * efficiency;
}

double parse_link_speed(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const bool plausible = status == std::errc() && value >= 2.5 && value <= 128;
  return plausible && rest.starts_with(" GT/s") ? value : 0;
}

std::uint32_t parse_link_width(std::string_view text) {
  const std::uint32_t value = parse_number<std::uint32_t>(text).value_or(0);
  return value <= 32 ? value : 0;
}

}  // namespace rdmabench::inline v1
