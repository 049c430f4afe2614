#include "sysfs.h"

#include <filesystem>

#include "base/file.h"
#include "base/pci_link.h"
#include "base/rdma_driver.h"
#include "rdmabench/verbs/device.h"

namespace rdmabench::verbs {
namespace fs = std::filesystem;

std::string driver_name(const ibv_device& device) {
  return rdma_driver_of(device.ibdev_path);
}

std::string network_device(const ibv_device& device, std::uint8_t port) {
  const fs::path folder = fs::path(device.ibdev_path) / "device/net";
  int error = 0;
  for (const std::string& name : list_folder(folder, error)) {
    const auto number = read_number(folder / name / "dev_port");
    if (number && *number + 1 == port) return name;
  }
  return "";
}

double pcie_gbps(const ibv_device& device) {
  double least = 0;
  std::error_code failure;
  fs::path function = fs::canonical(fs::path(device.ibdev_path) / "device", failure);
  for (; !failure && fs::exists(function / "current_link_speed", failure);
       function = function.parent_path()) {
    const PciLink link{parse_link_speed(first_line(function / "current_link_speed")),
                       parse_link_width(first_line(function / "current_link_width"))};
    if (link.known() && (least == 0 || link.gbps() < least)) least = link.gbps();
  }
  return least;
}

}  // namespace rdmabench::verbs
