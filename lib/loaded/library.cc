#include "loaded/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "loaded/versions.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/log.h"

namespace rdmabench::inline v1::loaded {
namespace {

std::string searched() {
  const char* folders = std::getenv("LD_LIBRARY_PATH");
  if (folders == nullptr || *folders == '\0') return "the linker's folders (ldconfig -p)";
  return fmt::format("LD_LIBRARY_PATH ({}) and the linker's folders (ldconfig -p)", folders);
}

/// Behind its symbolic links, so that its name has the version.
std::string file_of(void* handle, const char* name) {
  link_map* entry = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &entry) != 0 || entry == nullptr || *entry->l_name == '\0') {
    return name;
  }
  std::array<char, PATH_MAX> file{};
  return realpath(entry->l_name, file.data()) != nullptr ? file.data() : entry->l_name;
}

/// Puts the signal handlers back that a library's constructor replaced: libinfinipath and libpsm2,
/// which libfabric may bring, end the process with their own at SIGTERM and SIGINT, without a word.
/// One of the user's that comes to this thread meanwhile waits for the caller's.
class KeepSignals {
 public:
  KeepSignals() noexcept {
    sigset_t users;
    sigemptyset(&users);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) sigaddset(&users, signal);
    pthread_sigmask(SIG_BLOCK, &users, &mask_);
    for (int signal = 1; signal < NSIG; ++signal) {
      is_known_[signal] = sigaction(signal, nullptr, &actions_[signal]) == 0;
    }
  }
  ~KeepSignals() {
    for (int signal = 1; signal < NSIG; ++signal) {
      if (is_known_[signal]) sigaction(signal, &actions_[signal], nullptr);
    }
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  KeepSignals& operator=(KeepSignals&&) = delete;

 private:
  std::array<struct sigaction, NSIG> actions_{};
  std::array<bool, NSIG> is_known_{};
  sigset_t mask_{};
};

Found open(const char* name) {
  const KeepSignals keep;
  void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return {handle, file_of(handle, name), ""};
  const char* said = dlerror();
  return {nullptr, "", said != nullptr ? said : "unknown reason"};
}

}  // namespace

const Found& Library::load() const {
  static std::mutex mutex;
  static std::map<const Library*, Found>& all =
      *new std::map<const Library*, Found>;  // outlives what calls it at exit
  std::unique_lock lock(mutex);
  const auto [at, is_new] = all.try_emplace(this);
  const Found& found = at->second;
  if (is_new) {
    at->second = open(file_);
    if (found.handle == nullptr && older_ != nullptr) {
      if (Found older = open(older_); older.handle != nullptr) at->second = std::move(older);
    }
    lock.unlock();  // the hook may come here again
    log_line([&] {
      return found.handle != nullptr ? fmt::format("loaded: {} from {}", file_, found.file)
                                     : fmt::format("not loaded: {}: {}", file_, found.absence);
    });
  }
  return found;
}

void* Library::find(const char* function) const {
  void* const handle = load().handle;
  if (handle == nullptr) return nullptr;
  const std::string version = version_of(function);
  return version.empty() ? dlsym(handle, function) : dlvsym(handle, function, version.c_str());
}

const Found& Library::require() const {
  const Found& found = load();
  if (found.handle != nullptr) return found;
  throw Error(Fault::unavailable,
              fmt::format("{} cannot be loaded from {}: {}", file_, searched(), found.absence),
              remedy_, 0, {.library = file_, .call = "dlopen"});
}

void* Library::function(const char* name) const {
  const std::string& file = require().file;
  void* const function = find(name);
  if (function != nullptr) return function;
  throw Error(Fault::unavailable,
              fmt::format("{} has no {}() as this build of rdmabench needs it", file, name),
              "It is older than the one that rdmabench was built with: install a newer one.", 0,
              {.library = file_, .call = name});
}

const Library ibverbs("libibverbs.so.1", "Install libibverbs1 (Debian) or libibverbs (RHEL).");
const Library rdmacm("librdmacm.so.1", "Install librdmacm1 (Debian) or librdmacm (RHEL).");
const Library mlx5("libmlx5.so.1", "Install ibverbs-providers (Debian) or libibverbs (RHEL).");
const Library efa("libefa.so.1", "Install ibverbs-providers (Debian) or libibverbs (RHEL).");
const Library fabric("libfabric.so.1", "Install libfabric1 (Debian) or libfabric (RHEL).");
const Library ucp("libucp.so.0", "Install libucx0 (Debian) or ucx (RHEL).");
const Library hwloc("libhwloc.so.15", "Install libhwloc15 (Debian) or hwloc-libs (RHEL).");
const Library sqlite("libsqlite3.so.0", "Install libsqlite3-0 (Debian) or sqlite-libs (RHEL).");
const Library archive(
    "libarchive.so.13",
    "Install libarchive13 (Debian; from 13 on libarchive13t64) or libarchive (RHEL).");
const Library crypto("libcrypto.so.3",
                     "Install libssl3 (Debian; from 13 on libssl3t64) or openssl-libs (RHEL).",
                     "libcrypto.so.1.1");
const Library munge("libmunge.so.2", "Install libmunge2 (Debian) or munge-libs (RHEL).");
const Library pmix("libpmix.so.2", "Install libpmix2 (Debian) or pmix (RHEL).");
const Library cuda(
    "libcuda.so.1",
    "Install the NVIDIA driver; start a container with its GPUs (docker run --gpus all).");
const Library nvml("libnvidia-ml.so.1",
                   "Install the NVIDIA driver; start a container with its GPUs and the capability "
                   "utility (NVIDIA_DRIVER_CAPABILITIES).");

std::span<const Library* const> libraries() noexcept {
  static constexpr std::array kAll{&ibverbs, &rdmacm,  &mlx5,   &efa,   &fabric, &ucp, &hwloc,
                                   &sqlite,  &archive, &crypto, &munge, &pmix,   &cuda};
  return kAll;
}

}  // namespace rdmabench::inline v1::loaded
