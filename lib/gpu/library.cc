#include "library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>

#include "rdmabench/base/error.h"

namespace rdmabench::gpu {
namespace {

std::string searched() {
  const char* folders = std::getenv("LD_LIBRARY_PATH");
  if (folders == nullptr || *folders == '\0') return "the linker's folders (ldconfig -p)";
  return fmt::format("LD_LIBRARY_PATH ({}) and the linker's folders (ldconfig -p)", folders);
}

std::string file_of(void* handle, const char* name) {
  link_map* entry = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &entry) != 0 || entry == nullptr) return name;
  return *entry->l_name == '\0' ? name : entry->l_name;
}

}  // namespace

Library open_library(const char* name, const char* remedy) {
  void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* said = dlerror();
    throw Error(Fault::unavailable,
                fmt::format("{} cannot be loaded from {}: {}", name, searched(),
                            said != nullptr ? said : "unknown reason"),
                remedy);
  }
  return {handle, file_of(handle, name)};
}

}  // namespace rdmabench::gpu
