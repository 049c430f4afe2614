#include "sysfs.h"

#include <filesystem>

#include "base/file.h"
#include "base/pci_link.h"
#include "base/rdma_driver.h"
#include "rdmabench/verbs/device.h"

namespace rdmabench::verbs {
namespace fs = std::filesystem;

std::string driver_name(const ibv_device& device) {
  const fs::path folder(device.ibdev_path);
  std::error_code failure;
  const std::string driver = fs::read_symlink(folder / "device/driver", failure).filename();
  if (failure) return fs::exists(folder / "parent", failure) ? "rxe" : "";
  return rdma_driver(driver);
}

std::string network_device(const ibv_device& device, std::uint8_t port) {
  std::error_code failure;
  fs::directory_iterator at(fs::path(device.ibdev_path) / "device/net", failure);
  if (failure) return "";
  for (const fs::directory_iterator end; at != end; at.increment(failure)) {
    const auto number = read_number(at->path() / "dev_port");
    if (number && *number + 1 == port) return at->path().filename();
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
