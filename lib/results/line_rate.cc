#include "line_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/json_values.h"
#include "row.h"

namespace rdmabench::inline v1::report {
namespace {

// Bytes around each packet's payload. A write's or read's own header comes once a message: a packet
// of many.
constexpr double kTransport = 12 + 4;          // base transport header, invariant CRC
constexpr double kInfiniBand = 8 + 2;          // local route header, variant CRC
constexpr double kGlobal = 40;                 // global route header, or IPv6
constexpr double kEthernet = 8 + 14 + 4 + 12;  // preamble, header, check sequence, gap
constexpr double kUdp = 8;
constexpr double kIpv4 = 20;

double detail(const Json& details, std::string_view key) {
  const std::string text = any_text_of(details, key);
  return text.empty() ? std::numeric_limits<double>::quiet_NaN()
                      : std::strtod(text.c_str(), nullptr);
}

/// Of a GID as it is shown: an IPv4 address stands as such.
bool is_ipv4(const std::string& gid) {
  return !gid.empty() && gid.find(':') == std::string::npos;
}

}  // namespace

LineRate line_rate(const Resolved& resolved) {
  return line_rate(to_object(resolved));
}

LineRate line_rate(const nlohmann::ordered_json& resolved) {
  const Json& details = object_of(resolved, "details");
  const double rate = detail(details, "rate_gbps");
  if (!(rate > 0)) {
    return {std::numeric_limits<double>::quiet_NaN(),
            "the rate of the link is not known: give an absolute limit"};
  }
  const std::string device = text_of(resolved, "device");
  const auto devices = 1 + std::count(device.begin(), device.end(), ',');
  const std::string slower = text_of(details, "rate_of");  // than the port: a PCIe link
  LineRate line{rate * 1e9, fmt::format("{:g} Gb/s of {}", rate, slower.empty() ? device : slower)};
  const double mtu = detail(details, "mtu");
  const std::string layer = text_of(details, "link_layer");
  double headers = 0;
  if (layer == "InfiniBand") {
    headers =
        kInfiniBand + kTransport + (text_of(details, "global_header") == "true" ? kGlobal : 0);
  } else if (layer == "Ethernet") {
    headers = kEthernet + (is_ipv4(text_of(details, "gid")) ? kIpv4 : kGlobal) + kUdp + kTransport;
  }
  if (headers > 0 && mtu > 0) {
    line.bits_per_s *= mtu / (mtu + headers);
    line.origin += fmt::format(" less {:g} bytes of headers for every {:g}", headers, mtu);
  }
  if (devices > 1) {
    line.bits_per_s *= static_cast<double>(devices);
    line.origin += fmt::format(", times {}", devices);
  }
  line.origin = fmt::format("{} ({})", rate_text(line.bits_per_s), line.origin);
  return line;
}

}  // namespace rdmabench::inline v1::report
