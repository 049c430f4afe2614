// libFuzzer's entry point, for the target that RDMABENCH_FUZZ_JUDGE names.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const rdmabench::fuzz::Verdict verdict =
      rdmabench::fuzz::RDMABENCH_FUZZ_JUDGE({reinterpret_cast<const char*>(data), size});
  if (!verdict.broken.empty()) {
    std::fprintf(stderr, "%s\n", verdict.broken.c_str());
    std::abort();
  }
  return 0;
}
