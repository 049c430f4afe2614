#include "gpu/pairing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "pci_path.h"

namespace rdmabench::gpu {
namespace {

namespace fs = std::filesystem;

/// The distance, and its description.
struct Judged {
  Distance distance;
  std::string text;
};

bool has_one_node(const fs::path& root) {
  std::error_code error;
  return fs::exists(root / "sys/devices/system/node/node0", error) &&
         !fs::exists(root / "sys/devices/system/node/node1", error);
}

Judged judge_nodes(const PciPath& a, const PciPath& b, const fs::path& root) {
  if (a.numa_node >= 0 && b.numa_node >= 0) {
    if (a.numa_node == b.numa_node) {
      return {Distance::node, fmt::format("different host bridges of NUMA node {}", a.numa_node)};
    }
    return {Distance::sys, fmt::format("NUMA nodes {} and {}", a.numa_node, b.numa_node)};
  }
  // The kernel often reports no node if there is only one.
  if (has_one_node(root)) return {Distance::node, "different host bridges of the only NUMA node"};
  return {Distance::unknown, "different host bridges with unknown NUMA nodes"};
}

Judged judge(const PciPath& a, const PciPath& b, const fs::path& root) {
  const auto [left, right] =
      std::mismatch(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end());
  const auto common = static_cast<std::size_t>(left - a.steps.begin());
  if (common == 0) return judge_nodes(a, b, root);
  if (common == 1) return {Distance::phb, "the host bridge " + a.steps.front()};
  const std::string& meeting = a.steps[common - 1];
  // Below the common port, each side of one switch has one port of the switch and the device.
  const auto bridges = std::max(a.steps.end() - left, b.steps.end() - right) - 1;
  if (bridges <= 1) return {Distance::pix, "both below the PCIe switch " + meeting};
  return {Distance::pxb, "several PCIe switches; " + meeting + " is above both"};
}

Judged judge_known(const Pair& pair, const PciPath& nic, const PciPath& gpu, const fs::path& root) {
  if (!nic.known()) {
    return {Distance::unknown, fmt::format("{} is not a PCI device", pair.rdma_device)};
  }
  if (!gpu.known()) {
    return {Distance::unknown, fmt::format("sysfs has no PCI device {}", pair.gpu_pci)};
  }
  return judge(nic, gpu, root);
}

/// Orders "mlx5_2" before "mlx5_10".
bool name_less(const std::string& a, const std::string& b) {
  const auto split = [](const std::string& text) {
    std::size_t digits = text.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(text[digits - 1])) != 0) --digits;
    return std::pair(text.substr(0, digits), text.substr(digits));
  };
  const auto [a_stem, a_number] = split(a);
  const auto [b_stem, b_number] = split(b);
  if (a_stem != b_stem) return a_stem < b_stem;
  if (a_number.size() != b_number.size()) return a_number.size() < b_number.size();
  return a_number < b_number;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

std::string_view name(Distance distance) noexcept {
  switch (distance) {
    case Distance::pix:
      return "PIX";
    case Distance::pxb:
      return "PXB";
    case Distance::phb:
      return "PHB";
    case Distance::node:
      return "NODE";
    case Distance::sys:
      return "SYS";
    case Distance::unknown:
      break;
  }
  return "unknown";
}

Pair find_pair(std::string_view rdma_device, std::string_view gpu_pci, const std::string& root) {
  Pair pair;
  pair.rdma_device = rdma_device;
  pair.gpu_pci = lower_case(gpu_pci);
  const PciPath nic = path_of_rdma_device(rdma_device, root);
  const PciPath gpu = path_of_pci_device(pair.gpu_pci, root);
  pair.rdma_pci = nic.address();
  const Judged judged = judge_known(pair, nic, gpu, root);
  pair.distance = judged.distance;
  pair.text = fmt::format("{} and GPU {}: {}, {}", pair.rdma_device, pair.gpu_pci,
                          name(judged.distance), judged.text);
  return pair;
}

std::vector<Pair> rank_pairs(std::string_view gpu_pci, const std::string& root) {
  std::vector<Pair> pairs;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(root) / "sys/class/infiniband", error), end;
       !error && entry != end; entry.increment(error)) {
    pairs.push_back(find_pair(entry->path().filename().string(), gpu_pci, root));
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    return name_less(a.rdma_device, b.rdma_device);
  });
  return pairs;
}

std::string choice_text(const std::vector<Pair>& ranked) {
  if (ranked.empty()) return "this machine has no RDMA device";
  const Pair& chosen = ranked.front();
  std::vector<std::string> equal;
  for (std::size_t i = 1; i < ranked.size() && ranked[i].distance == chosen.distance; ++i) {
    equal.push_back(ranked[i].rdma_device);
  }
  std::string text =
      fmt::format("{} of {} RDMA devices: {}", chosen.rdma_device, ranked.size(), chosen.text);
  if (!equal.empty()) {
    text += fmt::format("; equally near: {}", fmt::join(equal, ", "));
  }
  return text;
}

}  // namespace rdmabench::gpu
