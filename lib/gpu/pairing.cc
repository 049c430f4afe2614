#include "gpu/pairing.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

namespace rdmabench::gpu {
namespace {

namespace fs = std::filesystem;

bool has_one_node(const fs::path& root) {
  return list_count(first_line(root / "sys/devices/system/node/online")) == 1;
}

PciPath path_of_folder(const fs::path& link) {
  std::error_code error;
  PciPath path = pci_path(fs::canonical(link, error).string());
  if (path.known()) {
    path.numa_node =
        parse_number<int>(first_line(fs::path(path.folder) / "numa_node")).value_or(-1);
  }
  return path;
}

/// Whether a name is a single path component.
bool is_name(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && text.find('/') == std::string_view::npos;
}

PciPath path_of_pci_device(std::string_view address, const fs::path& root) {
  if (!is_name(address)) return {};
  return path_of_folder(root / "sys/bus/pci/devices" / address);
}

PciPath path_of_rdma_device(std::string_view name, const fs::path& root) {
  if (!is_name(name)) return {};
  const fs::path folder = root / "sys/class/infiniband" / name;
  PciPath path = path_of_folder(folder / "device");
  if (path.known()) return path;
  const std::string parent = first_line(folder / "parent");
  if (!is_name(parent)) return {};
  return path_of_folder(root / "sys/class/net" / parent / "device");
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

Pair find_pair(std::string_view rdma_device, std::string_view gpu_pci, const std::string& root) {
  const std::string address = lower(gpu_pci);
  const PciPath nic = path_of_rdma_device(rdma_device, root);
  const PciPath gpu = path_of_pci_device(address, root);
  Pair pair{.distance = pci_distance(nic, gpu, has_one_node(root)), .text = ""};
  const std::string why = !nic.known()   ? fmt::format("{} is not a PCI device", rdma_device)
                          : !gpu.known() ? fmt::format("sysfs has no PCI device {}", address)
                                         : reason(pair.distance, nic, gpu);
  pair.text = fmt::format("{} and GPU {}: {}, {}", rdma_device, address, name(pair.distance), why);
  return pair;
}

}  // namespace rdmabench::gpu
