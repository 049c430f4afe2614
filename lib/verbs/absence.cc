#include "verbs/absence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "verbs/setup_error.h"

namespace rdmabench::verbs {
namespace {

namespace fs = std::filesystem;

/// The sorted names in a folder; none if it cannot be read.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::directory_iterator at(folder, failure);
  for (const fs::directory_iterator end; !failure && at != end; at.increment(failure)) {
    names.push_back(at->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string hidden_devices(const std::string& classes, const std::string& files) {
  const std::vector<std::string> devices = names_in(fs::path(classes) / "infiniband");
  if (devices.empty()) return "";
  const std::string kernel = fmt::format("The kernel has {}", fmt::join(devices, ", "));

  bool found = false;
  for (const std::string& name : names_in(fs::path(classes) / "infiniband_verbs")) {
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

}  // namespace rdmabench::verbs
