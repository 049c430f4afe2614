// libpmix, loaded at run time: one program runs with and without it.
#pragma once

#include <pmix.h>

#include <string>

namespace rdmabench::control {

/// The calls that we make. Their types come from the header, so that a wrong one does not compile.
struct PmixLibrary {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Get_nb) get_nb = nullptr;
  decltype(&PMIx_Fence_nb) fence_nb = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;
  decltype(&PMIx_Get_version) get_version = nullptr;
};

/// The library of this host, or null where there is none that has all of them. It stays loaded: it
/// has threads. Thread rule: any.
const PmixLibrary* pmix_library() noexcept;

}  // namespace rdmabench::control
