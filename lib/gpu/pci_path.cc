#include "pci_path.h"

#include <algorithm>
#include <cctype>

#include "base/file.h"
#include "base/number.h"

namespace rdmabench::gpu {
namespace {

namespace fs = std::filesystem;

int read_node(const fs::path& folder) {
  return parse_number<int>(first_line(folder / "numa_node")).value_or(-1);
}

/// Each x of the pattern stands for a hexadecimal digit.
bool looks_like(std::string_view text, std::string_view pattern) {
  return std::equal(text.begin(), text.end(), pattern.begin(), pattern.end(), [](char c, char p) {
    return p == 'x' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == p;
  });
}

// With many domains (Intel VMD) a domain has more than four digits.

bool is_bridge(std::string_view step) {
  return looks_like(step, "pcixxxx:xx") || looks_like(step, "pcixxxxx:xx");
}

bool is_device(std::string_view step) {
  return looks_like(step, "xxxx:xx:xx.x") || looks_like(step, "xxxxx:xx:xx.x");
}

/// The PCI steps of the real path of a folder, up to the last PCI device. For example a virtio
/// device may be below it.
PciPath path_of_folder(const fs::path& link) {
  PciPath path;
  std::error_code error;
  const fs::path folder = fs::canonical(link, error);
  if (error) return path;
  fs::path so_far;
  fs::path deepest;
  for (const fs::path& part : folder) {
    so_far /= part;
    const std::string step = part.string();
    if (path.steps.empty() ? is_bridge(step) : is_device(step)) {
      path.steps.push_back(step);
      deepest = so_far;
    }
  }
  if (path.known()) path.numa_node = read_node(deepest);
  return path;
}

/// Whether a name is a single path component.
bool is_name(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && text.find('/') == std::string_view::npos;
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
  const std::string parent = first_line(folder / "parent");
  if (!is_name(parent)) return {};
  return path_of_folder(root / "sys/class/net" / parent / "device");
}

}  // namespace rdmabench::gpu
