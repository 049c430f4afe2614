// A shared library that is loaded when it is first needed.
#pragma once

#include <string>

namespace rdmabench::gpu {

struct Library {
  void* handle;
  std::string path;  ///< the file
};

/// It stays loaded. Throws Error(unavailable) that says what was looked for, where, and what the
/// linker said.
Library open_library(const char* name, const char* remedy);

}  // namespace rdmabench::gpu
