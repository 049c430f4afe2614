#include "gpu/pairing.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

namespace rdmabench::inline v1::gpu {
namespace {

namespace fs = std::filesystem;

bool has_one_node(const fs::path& root) {
  return list_count(first_line(root / "sys/devices/system/node/online")) == 1;
}

PciPath path_of(std::string_view device, const std::string& root) {
  std::error_code error;
  PciPath path = pci_path(fs::canonical(device_folder(device, root), error).string());
  if (path.known()) {
    path.numa_node =
        parse_number<int>(first_line(fs::path(path.folder) / "numa_node")).value_or(-1);
  }
  return path;
}

std::string reason(PciDistance distance, const PciPath& a, const PciPath& b) {
  const std::size_t common = common_steps(a, b);
  switch (distance) {
    case PciDistance::pix:
      return "both below the PCIe switch " + a.steps[common - 1];
    case PciDistance::pxb:
      return "several PCIe switches; " + a.steps[common - 1] + " is above both";
    case PciDistance::phb:
      return "the host bridge " + a.steps.front();
    case PciDistance::node:
      return a.numa_node < 0 || b.numa_node < 0
                 ? "different host bridges of the only NUMA node"
                 : fmt::format("different host bridges of NUMA node {}", a.numa_node);
    case PciDistance::sys:
      return fmt::format("NUMA nodes {} and {}", a.numa_node, b.numa_node);
    case PciDistance::unknown:
      break;
  }
  return "different host bridges with unknown NUMA nodes";
}

}  // namespace

Pair find_pair(std::string_view nic, std::string_view gpu_pci, const std::string& root) {
  const std::string address = lower(gpu_pci);
  const PciPath near = path_of(nic, root);
  const PciPath gpu = path_of(address, root);
  Pair pair{.distance = pci_distance(near, gpu, has_one_node(root)), .text = ""};
  const std::string why = !near.known()  ? fmt::format("{} is not a PCI device", nic)
                          : !gpu.known() ? fmt::format("sysfs has no PCI device {}", address)
                                         : reason(pair.distance, near, gpu);
  pair.text = fmt::format("{} and GPU {}: {}, {}", nic, address, name(pair.distance), why);
  return pair;
}

}  // namespace rdmabench::inline v1::gpu
