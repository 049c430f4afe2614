#include "base/port_rate.h"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace rdmabench::inline v1 {
namespace {

/// "0000:3b:00" of ".../0000:3b:00.1".
std::string slot_of(const std::string& function) {
  const std::string address = function.substr(function.rfind('/') + 1);
  return address.substr(0, address.find('.'));
}

}  // namespace

double parse_port_rate(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const bool plausible = status == std::errc() && value > 0 && value < 1e6;
  return plausible && rest.starts_with(" Gb/sec") ? value : 0;
}

double known_rate(double gbps, std::string_view driver) {
  return driver == "efa" && gbps == 100 ? 0 : gbps;
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

int bonded_ports(const SysfsFiles& files, std::string_view driver, const std::string& device) {
  if (driver != "mlx5") return 1;
  const std::string function = files.resolve(device + "/device");
  for (const std::string& interface : files.list(function + "/net")) {
    const std::string bond = function + "/net/" + interface + "/master";
    const std::string mode = files.first_line(bond + "/bonding/mode");
    if (mode.empty() || mode.starts_with("active-backup")) continue;
    int ports = 1;
    for (const std::string& entry : files.list(bond)) {
      if (!entry.starts_with("lower_") || entry == "lower_" + interface) continue;
      const std::string other = files.resolve(bond + "/" + entry + "/device");
      const bool is_own = !other.empty() && slot_of(other) == slot_of(function);
      if (is_own && files.resolve(other + "/infiniband").empty()) ++ports;
    }
    return ports;
  }
  return 1;
}

}  // namespace rdmabench::inline v1
