// Which entry of fi_getinfo(3) an endpoint is opened with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rdmabench/transport/ofi/objects.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::ofi {

/// What choose() chose, with queues and a completion level that fit the request. Throws
/// Error(failed) when libfabric no longer has it, Error(usage) for queues beyond its limits.
Info chosen_info(const EndpointRequest& request, std::string_view choice);

/// Entries of an endpoint's completion queue. Besides our own completions there are the peer's
/// writes with data, as many as it may have outstanding. A full queue is not every provider's to
/// prevent: efa's manual page says that it may be overrun.
std::size_t completions_of(const EndpointRequest& request);

/// The device that an entry stands for, as device_folder() of base/pci_path.h takes it: by the
/// provider's name for it where sysfs knows that, else by its PCI address, which cxi gives; that of
/// the domain where the provider names none. `root` is the root of /sys.
std::string nic_of(const fi_info& info, const std::string& root = "/");

/// Messages up to this size are injected, at most what the request allows.
std::uint64_t inject_limit(const fi_info& info, const EndpointRequest& request);

/// "CALL(tcp on lo)" for the text of an error.
std::string call(std::string_view name, const fi_info& info);

/// Throws Error(failed) unless `result` is 0.
void check(int result, std::string_view name, const fi_info& info, std::string_view remedy = {});

/// fi_tostr(3) in a buffer of our own: the plain form shares one between all callers.
std::string to_text(const void* value, fi_type type);

/// Gb/s of data; 0 = unknown. Of an RDMA device by sysfs, because libfabric knows HDR and NDR from
/// 2.0 on, XDR not in 2.6, and FDR10 by 8 Gb/s up to 1.22 (ofi_vrb_speed()); else by the provider,
/// else of the network device whose name an IP provider's domain has. `root` is the root of /sys;
/// tests pass another folder. Source: sysfs, class/infiniband and class/net.
double link_gbps(const fi_info& info, const std::string& root = "/");

}  // namespace rdmabench::inline v1::transport::ofi
