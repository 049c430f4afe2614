#include "devices.h"

#include <system_error>

#include "base/file.h"
#include "base/number.h"
#include "checks/text.h"

namespace rdmabench::inline v1::health {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code failure;
  return fs::exists(path, failure);
}

}  // namespace

Device find_device(std::string_view text, const fs::path& root) {
  if (text.empty() || text.find('/') != std::string_view::npos || text.starts_with('.')) return {};
  const std::size_t colon = text.rfind(':');
  const std::string name(text.substr(0, colon));
  const std::string port(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (is_there(rdma_folder(root, name))) return {Device::Kind::rdma, name, port};
  // libfabric names a domain after the device and the kind of its endpoints. Source: fi_efa(7).
  for (const std::string_view suffix : {"-rdm", "-dgrm", "-xrc"}) {
    if (!name.ends_with(suffix)) continue;
    const std::string stem = name.substr(0, name.size() - suffix.size());
    if (is_there(rdma_folder(root, stem))) return {Device::Kind::rdma, stem, port};
  }
  if (is_there(root / "sys/class/net" / text))
    return {Device::Kind::network, std::string(text), ""};
  return {};
}

fs::path rdma_folder(const fs::path& root, std::string_view device) {
  return root / "sys/class/infiniband" / device;
}

std::vector<std::string> ports_of(const Device& device, const fs::path& root) {
  if (!device.port.empty()) return {device.port};
  int error = 0;
  return list_folder(rdma_folder(root, device.name) / "ports", error);
}

std::string interface_of(const fs::path& rdma_folder, const std::string& port) {
  const fs::path folder = rdma_folder / "ports" / port;
  if (first_line(folder / "link_layer") != "Ethernet") return "";
  std::string name = first_line(folder / "gid_attrs/ndevs/0");
  return name.find('/') == std::string::npos ? name : "";
}

std::vector<std::string> interfaces_of(const std::string& device, const std::string& port,
                                       const fs::path& root) {
  const std::string first = interface_of(rdma_folder(root, device), port);
  if (first.empty()) return {};
  const fs::path net = root / "sys/class/net";
  std::error_code failure;
  std::string bond = first;
  // The kernel names the bond, or the first of its devices. Source: mlx5_lag_get_roce_netdev() in
  // drivers/net/ethernet/mellanox/mlx5/core/lag/lag.c.
  if (!is_there(net / first / "bonding")) {
    bond = fs::read_symlink(net / first / "master", failure).filename().string();
  }
  std::vector<std::string> interfaces;
  for (const std::string& one : words_of(first_line(net / bond / "bonding/slaves"))) {
    int error = 0;
    const std::vector<std::string> own = list_folder(net / one / "device/infiniband", error);
    if (own.empty() || own.front() == device) interfaces.push_back(one);
  }
  if (interfaces.empty()) interfaces.push_back(first);
  return interfaces;
}

int numa_node_of(const Device& device, const fs::path& root) {
  if (device.kind == Device::Kind::none) return -1;
  const fs::path folder = device.kind == Device::Kind::rdma ? rdma_folder(root, device.name)
                                                            : root / "sys/class/net" / device.name;
  return parse_number<int>(first_line(folder / "device/numa_node")).value_or(-1);
}

}  // namespace rdmabench::inline v1::health
