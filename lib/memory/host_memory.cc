#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "memory/mapping.h"
#include "rdmabench/base/error.h"

namespace rdmabench::memory {

Mapping map_host(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  Mapping mapping(bytes, page, MAP_PRIVATE | MAP_ANONYMOUS);
  if (!mapping) {
    throw Error(Fault::failed, fmt::format("mmap({} bytes)", bytes),
                "Lower `sizes` or `depth`, or free memory.", errno);
  }
  return mapping;
}

}  // namespace rdmabench::memory
