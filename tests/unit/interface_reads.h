// Counts the calls of getifaddrs(3) in a test program: for one of its files.
#pragma once

#include <dlfcn.h>
#include <ifaddrs.h>

namespace rdmabench::inline v1 {

inline int interface_reads = 0;

}  // namespace rdmabench::inline v1

extern "C" int getifaddrs(ifaddrs** list) {
  static const auto real = reinterpret_cast<int (*)(ifaddrs**)>(dlsym(RTLD_NEXT, "getifaddrs"));
  ++rdmabench::interface_reads;
  return real(list);
}
