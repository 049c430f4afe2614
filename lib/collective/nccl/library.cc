#include "library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

constexpr const char* kName = "libnccl.so.2";

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The loader's message names the file; we add where it was looked for.
[[noreturn]] void refuse_absent(const std::string& wanted, const std::string& said) {
  const std::string path = environment("LD_LIBRARY_PATH");
  throw Error(Fault::unavailable,
              fmt::format("NCCL is not here: dlopen('{}'), looked for in LD_LIBRARY_PATH ({}) and "
                          "in the loader's cache: {}",
                          wanted, path.empty() ? "not set" : path, said),
              "Install libnccl2, or name the file in RDMABENCH_NCCL.");
}

void find_later(Library& library) {
  if (library.version >= kHasRegister) {
    library.mem_alloc = library.find("ncclMemAlloc");
    library.mem_free = library.find("ncclMemFree");
    library.comm_register = library.find("ncclCommRegister");
    library.comm_deregister = library.find("ncclCommDeregister");
  }
  if (library.version >= kHasWindows) {
    library.comm_window_register = library.find("ncclCommWindowRegister");
    library.comm_window_deregister = library.find("ncclCommWindowDeregister");
  }
  if (library.version >= kHasAllToAll) {
    library.all_to_all = library.find("ncclAlltoAll");
    library.gather = library.find("ncclGather");
    library.scatter = library.find("ncclScatter");
  }
}

/// The file that holds a function.
std::string path_of(void* function, const std::string& wanted) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : wanted;
}

Library load() {
  const std::string own = environment("RDMABENCH_NCCL");
  const std::string wanted = own.empty() ? kName : own;
  void* const handle = dlopen(wanted.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const said = dlerror();
    refuse_absent(wanted, said == nullptr ? "no reason given" : said);
  }
  Library library{.handle = handle};
  if (library.missing == nullptr) {
    library.path = path_of(reinterpret_cast<void*>(library.get_version), wanted);
    if (const Result result = library.get_version(&library.version); result != kSuccess) {
      throw Error(Fault::unavailable,
                  fmt::format("ncclGetVersion of '{}' gave {}", library.path, result));
    }
  }
  if (library.missing != nullptr || library.version < kOldest) {
    throw Error(Fault::unavailable,
                library.missing != nullptr
                    ? fmt::format("'{}' has no {}", wanted, library.missing)
                    : fmt::format("'{}' is NCCL {}", library.path, version_text(library.version)),
                "NCCL 2.18 or newer is needed.");
  }
  find_later(library);
  return library;
}

constexpr std::array<std::string_view, 8> kResultNames{
    "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
    "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};

/// One line without control characters.
std::string line(const char* text) {
  std::string out = text == nullptr ? "" : text;
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  constexpr std::size_t kMost = 400;
  if (out.size() > kMost) out.resize(kMost);
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

Symbol Library::find(const char* name) const {
  return {handle == nullptr ? nullptr : dlsym(handle, name)};
}

Symbol Library::need(const char* name) {
  const Symbol found = find(name);
  if (found.address == nullptr && missing == nullptr) missing = name;
  return found;
}

const Library& library() {
  static const Library loaded = load();  // after an exception the next call tries again
  return loaded;
}

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string result_text(const Library& library, Result result, Comm* comm) {
  const bool known = result >= 0 && static_cast<std::size_t>(result) < kResultNames.size();
  std::string text = fmt::format(
      "{} ({})", known ? kResultNames[static_cast<std::size_t>(result)] : "ncclResult", result);
  if (const std::string said = line(library.get_error_string(result)); !said.empty()) {
    text += ": " + said;
  }
  if (const std::string last = line(library.get_last_error(comm)); !last.empty()) {
    text += fmt::format("; NCCL says last: {}", last);
  }
  return text;
}

}  // namespace rdmabench::inline v1::collective::nccl
