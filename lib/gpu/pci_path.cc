#include "pci_path.h"

#include <fstream>
#include <regex>

namespace rdmabench::gpu {
namespace {

namespace fs = std::filesystem;

std::string read_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

int read_node(const fs::path& folder) {
  const std::string text = read_line(folder / "numa_node");
  static const std::regex number("-?[0-9]{1,4}");
  return std::regex_match(text, number) ? std::stoi(text) : -1;
}

/// The PCI steps of a folder that links lead to, up to the last PCI device: below it may come a
/// virtio device, say.
PciPath path_of_folder(const fs::path& link) {
  static const std::regex bridge("pci[0-9a-f]{4,8}:[0-9a-f]{2}");
  static const std::regex device("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]");
  PciPath path;
  std::error_code error;
  const fs::path folder = fs::canonical(link, error);
  if (error) return path;
  fs::path so_far;
  fs::path deepest;
  for (const fs::path& part : folder) {
    so_far /= part;
    const std::string step = part.string();
    if (path.steps.empty() ? std::regex_match(step, bridge) : std::regex_match(step, device)) {
      path.steps.push_back(step);
      deepest = so_far;
    }
  }
  if (path.known()) path.numa_node = read_node(deepest);
  return path;
}

/// A name is one step of a path and no way out of the folder.
bool is_name(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && text.find('/') == text.npos;
}

}  // namespace

PciPath path_of_pci_device(std::string_view address, const fs::path& root) {
  if (!is_name(address)) return {};
  return path_of_folder(root / "sys/bus/pci/devices" / address);
}

PciPath path_of_rdma_device(std::string_view name, const fs::path& root) {
  if (!is_name(name)) return {};
  const fs::path folder = root / "sys/class/infiniband" / name;
  PciPath path = path_of_folder(folder / "device");
  if (path.known()) return path;
  const std::string parent = read_line(folder / "parent");
  if (!is_name(parent)) return {};
  return path_of_folder(root / "sys/class/net" / parent / "device");
}

}  // namespace rdmabench::gpu
