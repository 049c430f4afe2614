#include "netplugin/net.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "base/refuse.h"
#include "isolate.h"
#include "net_of.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::netplugin {
namespace {

constexpr std::array<const char*, 6> kLevels{"NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE"};

std::string symbol(int version) {
  return fmt::format("ncclNetPlugin_v{}", version);
}

void* load(const std::string& file) {
  if (access(file.c_str(), R_OK) != 0) {
    throw Error(Fault::usage, fmt::format("open '{}'", file),
                "Give the file of the plugin, for example ./libnccl-net.so.", errno);
  }
  // Without a slash dlopen(3) would search the library path.
  const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    throw Error(Fault::unavailable,
                fmt::format("load '{}': {}", file, why != nullptr ? why : "unknown reason"),
                "Install the libraries that it needs; ldd(1) lists those that are missing.");
  }
  return library;
}

template <int kVersion = kOldestVersion>
std::unique_ptr<Net> net_of(const void* table, int version) {
  if constexpr (kVersion < kNewestVersion) {
    if (version != kVersion) return net_of<kVersion + 1>(table, version);
  }
  using Table = abi::NetTable<kVersion>;
  return std::make_unique<NetOf<Table>>(*static_cast<const Table*>(table));
}

}  // namespace

void log_of_plugin(int level, unsigned long /*subsystems*/, const char* /*file*/, int /*line*/,
                   const char* format, ...) {
  static std::atomic<std::size_t> logged{0};
  if (format == nullptr || logged > kMostLogBytes) return;
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const bool known = level >= 0 && level < static_cast<int>(kLevels.size());
  const std::string line =
      fmt::format("{} {}\n", known ? kLevels[static_cast<std::size_t>(level)] : "LOG", text);
  logged += line.size();
  // The child's standard error is what its parent reads. One call: lines of threads do not mix.
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

std::string result_text(abi::Result result) {
  constexpr std::array<const char*, 9> kNames{
      "success",       "unhandled CUDA error", "system error", "internal error", "invalid argument",
      "invalid usage", "remote error",         "in progress",  "no such result"};
  const bool known = result >= 0 && result < 8;
  return fmt::format("{} ({})", result, kNames[known ? static_cast<std::size_t>(result) : 8]);
}

std::vector<int> exported_versions(const std::string& file) {
  void* const library = load(file);
  std::vector<int> versions;
  for (int version = kNewestVersion; version >= kOldestVersion; --version) {
    if (dlsym(library, symbol(version).c_str()) != nullptr) versions.push_back(version);
  }
  if (versions.empty()) {
    std::string others;
    for (const int version : {13, 5, 4, 3, 2}) {
      if (dlsym(library, symbol(version).c_str()) != nullptr) others += " " + symbol(version);
    }
    throw Error(Fault::usage,
                fmt::format("'{}' is not a network plugin of NCCL: it exports none of {} to {}{}",
                            file, symbol(kOldestVersion), symbol(kNewestVersion),
                            others.empty() ? "" : "; it exports" + others),
                fmt::format("Use a network plugin with interface version {} to {}.", kOldestVersion,
                            kNewestVersion));
  }
  return versions;
}

std::unique_ptr<Net> open_net(const std::string& file, int version) {
  const std::vector<int> versions = exported_versions(file);
  const int wanted = version == 0 ? versions.front() : version;
  void* const table = dlsym(load(file), symbol(wanted).c_str());
  refuse_if(table == nullptr, fmt::format("'{}' has no interface version {}", file, wanted),
            fmt::format("It has {}.", fmt::join(versions, ", ")));
  return net_of(table, wanted);
}

}  // namespace rdmabench::inline v1::netplugin
