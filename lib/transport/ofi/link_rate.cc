#include "link_rate.h"

#include <filesystem>

#include "base/file.h"
#include "base/port_rate.h"
#include "fits.h"
#include "provider_info.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

namespace fs = std::filesystem;

/// Of the first active port, which is the one that the verbs provider uses.
double port_gbps(const fs::path& device) {
  int error = 0;
  for (const std::string& number : list_folder(device / "ports", error)) {
    const fs::path port = device / "ports" / number;
    if (!first_line(port / "state").ends_with(" ACTIVE")) continue;
    const std::string rate = first_line(port / "rate");
    const bool infiniband = first_line(port / "link_layer") == "InfiniBand";
    return parse_port_rate(rate) * port_data_share(rate, infiniband);
  }
  return 0;
}

double told_gbps(const fi_info& info) {
  const bool tells = info.nic != nullptr && info.nic->link_attr != nullptr;
  return tells ? static_cast<double>(info.nic->link_attr->speed) / 1e9 : 0;
}

}  // namespace

double link_gbps(const fi_info& info, const std::string& root) {
  const fs::path classes = fs::path(root) / "sys/class";
  const std::string nic = nic_of(info, root);
  const double port = port_gbps(classes / "infiniband" / nic);
  const double rdma = port > 0 ? port : told_gbps(info);
  if (rdma > 0) return known_rate(rdma, core_of(info.fabric_attr->prov_name));
  const auto mbps = read_number(classes / "net" / nic / "speed");  // "-1" where unknown
  return static_cast<double>(mbps.value_or(0)) / 1e3;
}

}  // namespace rdmabench::inline v1::transport::ofi
