#include "base/pci_path.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace rdmabench::inline v1 {
namespace {

/// Each x of the pattern stands for a hexadecimal digit.
bool looks_like(std::string_view text, std::string_view pattern) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  return std::equal(text.begin(), text.end(), pattern.begin(), pattern.end(), [](char c, char p) {
    return p == 'x' ? kDigits.find(c) != std::string_view::npos : c == p;
  });
}

bool is_host_bridge(std::string_view step) {
  return looks_like(step, "pcixxxx:xx") || looks_like(step, "pcixxxxx:xx");
}

/// Whether a name is a single path component.
bool is_name(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && text.find('/') == std::string_view::npos;
}

}  // namespace

bool is_pci_address(std::string_view text) {
  return looks_like(text, "xxxx:xx:xx.x") || looks_like(text, "xxxxx:xx:xx.x");
}

PciPath pci_path(std::string_view folder) {
  PciPath path;
  for (std::size_t begin = 0; begin < folder.size();) {
    const std::size_t end = std::min(folder.find('/', begin), folder.size());
    const std::string_view step = folder.substr(begin, end - begin);
    if (path.steps.empty() ? is_host_bridge(step) : is_pci_address(step)) {
      path.steps.emplace_back(step);
      path.folder = folder.substr(0, end);
    }
    begin = end + 1;
  }
  return path;
}

std::string device_folder(std::string_view name, const std::string& root) {
  if (!is_name(name)) return "";
  const std::filesystem::path sys = std::filesystem::path(root) / "sys";
  const std::string parent = first_line(sys / "class/infiniband" / name / "parent");
  std::error_code error;
  for (const std::filesystem::path& folder :
       {sys / "class/infiniband" / name / "device",
        sys / "class/net" / (is_name(parent) ? parent : std::string(name)) / "device",
        sys / "bus/pci/devices" / lower(name)}) {
    if (std::filesystem::exists(folder, error)) return folder.string();
  }
  return "";
}

std::size_t common_steps(const PciPath& a, const PciPath& b) {
  const auto ends = std::mismatch(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end());
  return static_cast<std::size_t>(ends.first - a.steps.begin());
}

std::string_view name(PciDistance distance) noexcept {
  constexpr std::array<std::string_view, 6> kWords{"PIX", "PXB", "PHB", "NODE", "SYS", "unknown"};
  return kWords[static_cast<std::size_t>(distance)];
}

PciDistance pci_distance(const PciPath& a, const PciPath& b, bool one_node) {
  if (!a.known() || !b.known()) return PciDistance::unknown;
  const std::size_t common = common_steps(a, b);
  if (common == 1) return PciDistance::phb;
  if (common > 1) {
    // Below the common port, each side of one switch has one port of the switch and the function.
    const std::size_t below = std::max(a.steps.size(), b.steps.size()) - common;
    return below <= 2 ? PciDistance::pix : PciDistance::pxb;
  }
  if (a.numa_node >= 0 && b.numa_node >= 0) {
    return a.numa_node == b.numa_node ? PciDistance::node : PciDistance::sys;
  }
  return one_node ? PciDistance::node : PciDistance::unknown;
}

}  // namespace rdmabench::inline v1
