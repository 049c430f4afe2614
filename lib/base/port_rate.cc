#include "base/port_rate.h"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace rdmabench {

double parse_port_rate(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const bool plausible = status == std::errc() && value > 0 && value < 1e6;
  return plausible && rest.starts_with(" Gb/sec") ? value : 0;
}

double port_data_share(std::string_view text, bool infiniband) {
  // Older kernels give SDR no name: "10 Gb/sec (4X)".
  constexpr std::array<std::pair<std::string_view, double>, 5> kShares{
      {{"X)", 0.8},
       {" SDR)", 0.8},
       {" DDR)", 0.8},
       {" QDR)", 0.8},
       {" FDR)", 14.0625 * 64 / 66 / 14}}};
  for (const auto& [speed, share] : kShares) {
    if (infiniband && text.find(speed) != std::string_view::npos) return share;
  }
  return 1;
}

}  // namespace rdmabench
