#include "verbs/absence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <vector>

#include "base/file.h"
#include "verbs/setup_error.h"

namespace rdmabench::inline v1::verbs {
namespace fs = std::filesystem;

std::string hidden_devices(const std::string& classes, const std::string& files) {
  int error = 0;
  const std::vector<std::string> devices = list_folder(fs::path(classes) / "infiniband", error);
  if (devices.empty()) return "";
  const std::string kernel = fmt::format("The kernel has {}", fmt::join(devices, ", "));

  bool found = false;
  for (const std::string& name : list_folder(fs::path(classes) / "infiniband_verbs", error)) {
    if (!name.starts_with("uverbs")) continue;  // "abi_version" is there too
    found = true;
    const DeviceFile file = look_at((fs::path(files) / name).string());
    if (file.open) continue;
    return fmt::format(
        "{}, but {}: give this user access to the file, or pass it into the container "
        "('--device=/dev/infiniband').",
        kernel, file.text);
  }
  if (!found) return kernel + ", but ib_uverbs is not loaded: 'modprobe ib_uverbs'.";
  return kernel +
         ", but libibverbs has no provider library for it: install ibverbs-providers (Debian) or rdma-core.";
}

}  // namespace rdmabench::inline v1::verbs
