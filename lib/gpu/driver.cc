#include "gpu/driver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/cuda_error.h"
#include "loaded/library.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::gpu {
namespace {

Driver load_libcuda() {
  const std::string& file = loaded::cuda.require().file;
  return load_driver([](const char* name) { return loaded::cuda.find(name); }, file);
}

}  // namespace

Driver load_driver(const FindFunction& find, std::string_view path) {
  Driver table(find);
  table.path = path;
  if (!table.missing().empty()) {
    throw Error(Fault::unavailable,
                fmt::format("the CUDA driver {} lacks {}", path, fmt::join(table.missing(), ", ")),
                "Install an NVIDIA driver of CUDA 11.7 or newer");
  }
  check(table, table.init(0), fmt::format("cuInit() of {}", path));
  check(table, table.driver_get_version(&table.version), "cuDriverGetVersion()");
  return table;
}

const Driver& driver() {
  // After an exception the next call tries again. Never unloaded, because the driver has threads.
  static const Driver table = load_libcuda();
  return table;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace rdmabench::inline v1::gpu
