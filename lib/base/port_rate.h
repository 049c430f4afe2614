// The rate of an RDMA port, as sysfs tells it: class/infiniband/NAME/ports/N/rate.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1 {

/// "400 Gb/sec (4X NDR)": 400, as ports are called. 0 for any other text.
double parse_port_rate(std::string_view text);

/// That rate, and 0 where the driver does not know it: before Linux 6.13 every EFA device is called
/// 100 Gb/s. Source: Linux, efa_query_port() of drivers/infiniband/hw/efa.
double known_rate(double gbps, std::string_view driver);

/// The share of that rate which is data. On InfiniBand 8b/10b leaves 80 % of SDR, DDR and QDR, and
/// FDR is called 14 although its lanes have 14.0625 Gb/s, of which 64b/66b leaves 13.64. All others
/// are called by their data rate, and on Ethernet all. Source: Linux, rate_show() of
/// drivers/infiniband/core/sysfs.c; InfiniBand Architecture Specification, volume 2.
double port_data_share(std::string_view text, bool infiniband);

/// Files of this machine, or of a saved one.
struct SysfsFiles {
  std::function<std::string(const std::string& path)> first_line;  ///< "" where there is none
  std::function<std::vector<std::string>(const std::string& path)> list;
  std::function<std::string(const std::string& path)> resolve;  ///< "" where there is nothing
};

/// How many ports of a card carry the packets of its one device, which a bond of them has in place
/// of several; 1 where there is none, and for other drivers than mlx5, of which it is not known
/// whether `rate` is that of one port. `device`: class/infiniband/NAME. libmlx5's num_lag_ports is
/// what the card could bond. Source: Linux, Documentation/networking/bonding.rst;
/// drivers/net/ethernet/mellanox/mlx5/core/lag.
int bonded_ports(const SysfsFiles& files, std::string_view driver, const std::string& device);

}  // namespace rdmabench::inline v1
