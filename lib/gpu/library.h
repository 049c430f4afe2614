// Loads a shared library at run time.
#pragma once

#include <string>

namespace rdmabench::gpu {

struct Library {
  void* handle;
  std::string path;  ///< the file
};

/// The library stays loaded. Throws Error(unavailable) with its name, the searched folders and the
/// linker's error.
Library open_library(const char* name, const char* remedy);

}  // namespace rdmabench::gpu
