// libFuzzer: a header and a message from a peer that is not trusted.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "frame_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string broken =
      rdmabench::control::broken_rule({reinterpret_cast<const char*>(data), size});
  if (!broken.empty()) {
    std::fprintf(stderr, "%s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
