#include "pmix_library.h"

#include <optional>

#include "loaded/library.h"

namespace rdmabench::control {
namespace {

template <typename Function>
bool find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(loaded::pmix.find(name));
  return function != nullptr;
}

/// A launcher's own copy is found by its LD_LIBRARY_PATH.
std::optional<PmixLibrary> load() {
  PmixLibrary found;
  const bool whole = find("PMIx_Init", found.init) && find("PMIx_Finalize", found.finalize) &&
                     find("PMIx_Put", found.put) && find("PMIx_Commit", found.commit) &&
                     find("PMIx_Get_nb", found.get_nb) && find("PMIx_Fence_nb", found.fence_nb) &&
                     find("PMIx_Error_string", found.error_string) &&
                     find("PMIx_Get_version", found.get_version);
  return whole ? std::optional(found) : std::nullopt;
}

}  // namespace

const PmixLibrary* pmix_library() noexcept {
  static const std::optional<PmixLibrary> library = load();
  return library ? &*library : nullptr;
}

}  // namespace rdmabench::control
