#include "profiler.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "profiler_abi.h"

namespace fake_nccl {
namespace {

namespace abi = rdmabench::collective::nccl;
namespace profiler = rdmabench::collective::nccl::profiler;

int event_mask = 0;  // the plugin has its address

struct Loaded {
  bool tried = false;
  int users = 0;    ///< communicators; the last one unloads the plugin
  int version = 0;  ///< of the table; 0 if there is none
  void* table = nullptr;
};
std::mutex mutex;
Loaded loaded;

int newest_known(int nccl) {
  constexpr std::array<std::pair<int, int>, 6> kSince{{{abi::version_code(2, 29), 6},
                                                       {abi::version_code(2, 28), 5},
                                                       {abi::version_code(2, 27), 4},
                                                       {abi::version_code(2, 26), 3},
                                                       {abi::version_code(2, 24), 2},
                                                       {abi::version_code(2, 23), 1}}};
  for (const auto& [since, version] : kSince) {
    if (nccl >= since) return version;
  }
  return 0;
}

Loaded load(int nccl) {
  Loaded found;
  found.tried = true;
  const int newest = newest_known(nccl);
  const char* const set = std::getenv("NCCL_PROFILER_PLUGIN");
  const std::string name = set == nullptr || *set == '\0' ? "libnccl-profiler.so" : set;
  if (newest == 0 || strcasecmp(name.c_str(), "none") == 0) return found;
  const bool program = strcasecmp(name.c_str(), "STATIC_PLUGIN") == 0;
  void* const handle = dlopen(program ? nullptr : name.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (int version = newest; handle != nullptr && version > 0; --version) {
    found.table = dlsym(handle, fmt::format("ncclProfiler_v{}", version).c_str());
    found.version = found.table == nullptr ? 0 : version;
    if (found.table != nullptr) return found;
  }
  if (handle != nullptr) dlclose(handle);
  return found;
}

/// Calls `use` with the table of the plugin's version.
template <class Use>
void with_table(const Loaded& from, Use&& use) {
  switch (from.version) {
    case 1:
      return use(static_cast<const profiler::Table1*>(from.table));
    case 2:
      return use(static_cast<const profiler::Table2*>(from.table));
    case 3:
      return use(static_cast<const profiler::Table3*>(from.table));
    case 4:
      return use(static_cast<const profiler::Table4*>(from.table));
    case 5:
      return use(static_cast<const profiler::Table5*>(from.table));
    case 6:
      return use(static_cast<const profiler::Table6*>(from.table));
    default:
      return;
  }
}

int begin(profiler::Init1* init, const Communicator& /*comm*/, void** context) {
  return init(context, &event_mask);
}
int begin(profiler::Init4* init, const Communicator& comm, void** context) {
  return init(context, &event_mask, "fake", 7, 1, comm.ranks, comm.rank, nullptr);
}
int begin(profiler::Init5* init, const Communicator& comm, void** context) {
  return init(context, 7, &event_mask, "fake", 1, comm.ranks, comm.rank, nullptr);
}

/// The choice of the fake: FAKE_NCCL_CHOICE, or by the size.
struct Chosen {
  std::string algorithm;
  std::string protocol;
  int channels = 0;
};

Chosen choose(const Communicator& comm, const Operation& operation) {
  if (comm.asked.choice.empty()) {
    constexpr std::size_t kLarge = 65536;
    const bool large = operation.count * size_of(operation.type) >= kLarge;
    return large ? Chosen{"RING", "SIMPLE", 8} : Chosen{"TREE", "LL", 2};
  }
  const std::string& text = comm.asked.choice;
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  return {text.substr(0, first), text.substr(first + 1, second - first - 1),
          std::atoi(text.c_str() + second + 1)};
}

template <std::size_t N>
std::uint8_t number_of(const std::array<const char*, N>& names, const std::string& name) {
  return static_cast<std::uint8_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

void fill(profiler::Collective1& told, const Chosen& chosen) {
  constexpr std::array<const char*, 7> kAlgorithms{
      "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
  constexpr std::array<const char*, 3> kProtocols{"LL", "LL128", "SIMPLE"};
  told.algorithm = number_of(kAlgorithms, chosen.algorithm);
  told.protocol = number_of(kProtocols, chosen.protocol);
  told.channels = static_cast<std::uint8_t>(chosen.channels);
}

template <class Told>
void fill(Told& told, const Chosen& chosen) {
  told.algorithm = chosen.algorithm.c_str();
  told.protocol = chosen.protocol.c_str();
  told.channels = static_cast<std::uint8_t>(chosen.channels);
}

struct Telling {
  void* context;
  const std::vector<Operation>& operations;
  int mask;
  int version;
};

template <class Init, class Event>
void tell_all(const profiler::Table<Init, Event>& table, const Communicator& comm,
              const Telling& telling) {
  const int mask = telling.mask;
  const auto start = [&](Event& event) {
    void* handle = nullptr;
    table.start(telling.context, &handle, &event);
    comm.trace(fmt::format("event {} mask={}", static_cast<int>(event.kind), mask));
    return handle;
  };
  const auto fresh = [&](int kind) {
    // Fields that the plugin does not declare follow those that it does.
    Event event{};
    event.kind = static_cast<decltype(event.kind)>(kind);
    event.rank = comm.rank;
    return event;
  };
  Event group = fresh(profiler::kGroup);
  void* const parent = start(group);
  std::vector<void*> handles;
  const bool told = parent != nullptr || telling.version >= 5;
  for (const Operation& operation : telling.operations) {
    if (!told) break;
    if (operation.kind != Kind::exchange) {
      const Chosen chosen = choose(comm, operation);
      if (chosen.algorithm == "COPY_ENGINES") {
        if (telling.version < 6 || (mask & profiler::kCopyEngines) == 0) continue;
        Event event = fresh(profiler::kCopyEngines);
        handles.push_back(start(event));
        continue;
      }
      if ((mask & profiler::kCollective) == 0) continue;
      Event event = fresh(profiler::kCollective);
      event.parent = parent;
      event.collective = {};
      fill(event.collective, chosen);
      handles.push_back(start(event));
      continue;
    }
    for (std::size_t i = 0; i < operation.sends.size() + operation.receives.size(); ++i) {
      if ((mask & profiler::kPointToPoint) == 0) continue;
      Event event = fresh(profiler::kPointToPoint);
      event.parent = parent;
      event.point_to_point = {};
      event.point_to_point.channels = static_cast<std::uint8_t>(1 + i % 2);
      handles.push_back(start(event));
    }
  }
  for (void* const handle : handles) {
    if (handle != nullptr) table.stop(handle);
  }
  if (parent != nullptr) table.stop(parent);
}

}  // namespace

void init_profiler(Communicator& comm) {
  const std::scoped_lock lock(mutex);
  if (!loaded.tried) loaded = load(comm.asked.version);
  with_table(loaded, [&](const auto* table) {
    void* context = nullptr;
    if (begin(table->init, comm, &context) != abi::kSuccess) return;
    ++loaded.users;
    comm.profiler = context;
    comm.trace(
        fmt::format("profiler {} v{} mask={}", table->name, loaded.version, profiler_mask()));
  });
}

void finalize_profiler(Communicator& comm) {
  const std::scoped_lock lock(mutex);
  void* const context = comm.profiler.exchange(nullptr);
  if (context == nullptr) {
    loaded.tried = loaded.users > 0;
    return;
  }
  with_table(loaded, [&](const auto* table) { table->finalize(context); });
  if (--loaded.users == 0) loaded = {};
}

int profiler_mask() {
  return __atomic_load_n(&event_mask, __ATOMIC_RELAXED);
}

void tell_profiler(const Communicator& comm, const std::vector<Operation>& operations, int mask) {
  void* const context = comm.profiler;
  if (mask == 0 || context == nullptr) return;
  const Loaded now = [] {
    const std::scoped_lock lock(mutex);
    return loaded;
  }();
  with_table(now, [&](const auto* table) {
    tell_all(*table, comm, {context, operations, mask, now.version});
  });
}

}  // namespace fake_nccl
