#include <fmt/format.h>

#include "rdmabench/base/error.h"
#include "rdmabench/run/backends.h"

namespace rdmabench::run {

const Backend& find_backend(std::string_view name) {
  std::string known;
  for (const Backend& backend : backends()) {
    if (backend.name == name) return backend;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", backend.name);
  }
  if (name == "verbs" || name == "ofi") {
    throw Error(Fault::unavailable, fmt::format("the back end '{}' is not in this build", name),
                fmt::format("It needs {}; this build has {}.",
                            name == "verbs" ? "libibverbs" : "libfabric", known));
  }
  throw Error(Fault::usage, fmt::format("there is no back end '{}'", name),
              fmt::format("Choose auto, {}.", known));
}

}  // namespace rdmabench::run
