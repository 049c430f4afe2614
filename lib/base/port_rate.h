// The rate of an RDMA port, as sysfs tells it: class/infiniband/NAME/ports/N/rate.
#pragma once

#include <string_view>

namespace rdmabench {

/// "400 Gb/sec (4X NDR)": 400, as ports are called. 0 for any other text.
double parse_port_rate(std::string_view text);

/// The share of that rate which is data. On InfiniBand 8b/10b leaves 80 % of SDR, DDR and QDR, and
/// FDR is called 14 although its lanes have 14.0625 Gb/s, of which 64b/66b leaves 13.64. All others
/// are called by their data rate, and on Ethernet all. Source: Linux, rate_show() of
/// drivers/infiniband/core/sysfs.c; InfiniBand Architecture Specification, volume 2.
double port_data_share(std::string_view text, bool infiniband);

}  // namespace rdmabench
