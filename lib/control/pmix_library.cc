#include "pmix_library.h"

#include <dlfcn.h>

#include <optional>

namespace rdmabench::control {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::optional<PmixLibrary> load() noexcept {
  // The same since PMIx 2. A launcher's own copy is found by its LD_LIBRARY_PATH.
  void* library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  PmixLibrary found;
  const bool whole =
      find(library, "PMIx_Init", found.init) && find(library, "PMIx_Finalize", found.finalize) &&
      find(library, "PMIx_Put", found.put) && find(library, "PMIx_Commit", found.commit) &&
      find(library, "PMIx_Get_nb", found.get_nb) &&
      find(library, "PMIx_Fence_nb", found.fence_nb) &&
      find(library, "PMIx_Error_string", found.error_string) &&
      find(library, "PMIx_Get_version", found.get_version);
  return whole ? std::optional(found) : std::nullopt;
}

}  // namespace

const PmixLibrary* pmix_library() noexcept {
  static const std::optional<PmixLibrary> library = load();
  return library ? &*library : nullptr;
}

}  // namespace rdmabench::control
