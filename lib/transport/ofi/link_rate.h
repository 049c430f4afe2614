// What the link of an entry's NIC carries.
#pragma once

#include <rdma/fabric.h>

#include <string>

namespace rdmabench::inline v1::transport::ofi {

/// Gb/s of data; 0 = unknown. Of an RDMA device by sysfs, because libfabric knows HDR and NDR from
/// 2.0 on, XDR not in 2.6, and FDR10 by 8 Gb/s up to 1.22 (ofi_vrb_speed()); else by the provider,
/// else of the network device whose name an IP provider's domain has. `root` is the root of /sys;
/// tests pass another folder. Source: sysfs, class/infiniband and class/net.
double link_gbps(const fi_info& info, const std::string& root = "/");

}  // namespace rdmabench::inline v1::transport::ofi
