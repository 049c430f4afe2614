#include "profiler.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string_view>
#include <type_traits>

#include "library.h"
#include "profiler_abi.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

constexpr const char* kPluginSetting = "NCCL_PROFILER_PLUGIN";
constexpr const char* kPluginName = "rdmabench";
constexpr const char* kThisProgram = "STATIC_PLUGIN";

/// What all communicators of this process share; NCCL gives the plugin no pointer of ours. Never
/// destroyed, because it must outlive every thread of NCCL.
struct PluginState {
  std::mutex mutex;
  int communicators = 0;
  int* mask = nullptr;  // NCCL's own, for the whole process; null without a communicator
  int kinds = 0;        // that the loaded interface has and this program reads
  Profiler::Subscription* subscriptions = nullptr;

  void set_mask() noexcept {
    const int wanted = subscriptions == nullptr ? 0 : kinds;
    if (mask != nullptr) __atomic_store_n(mask, wanted, __ATOMIC_RELAXED);
  }
};
constinit PluginState plugin_state;
static_assert(std::is_trivially_destructible_v<PluginState>);

/// Reads at most this many characters from NCCL's pointer.
Choice::Word to_word(const char* text) noexcept {
  Choice::Word word{};
  for (std::size_t i = 0; text != nullptr && i + 1 < word.size() && text[i] != '\0'; ++i) {
    word[i] = text[i] > ' ' && text[i] <= '~' ? text[i] : '?';
  }
  return word;
}

// Only version 1 passes numbers; the names are those that NCCL passes from 2.24 on.
template <std::size_t N>
const char* name_of(const std::array<const char*, N>& names, std::size_t number) noexcept {
  return number < N ? names[number] : nullptr;
}
constexpr std::array<const char*, 7> kAlgorithms{
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::array<const char*, 3> kProtocols{"LL", "LL128", "SIMPLE"};

Choice to_choice(const profiler::Collective1& told) noexcept {
  return {.collective = true,
          .at_most = true,
          .channels = told.channels,
          .algorithm = to_word(name_of(kAlgorithms, told.algorithm)),
          .protocol = to_word(name_of(kProtocols, told.protocol))};
}

template <class Told>
Choice to_choice(const Told& told) noexcept {
  return {.collective = true,
          .at_most = !std::is_same_v<Told, profiler::Collective4>,
          .channels = told.channels,
          .algorithm = to_word(told.algorithm),
          .protocol = to_word(told.protocol)};
}

/// A call may be several sends and receives: keeps their largest number of channels.
void merge(Choice& into, const Choice& more) noexcept {
  if (more.collective && !into.collective) {
    into = more;
  } else if (more.copies && !into.collective) {
    into.copies = true;
  } else if (more.sends && !into.collective) {
    into.sends = true;
    into.channels = std::max(into.channels, more.channels);
  }
}

void tell(int rank, const Choice& choice) noexcept {
  const std::scoped_lock lock(plugin_state.mutex);
  for (Profiler::Subscription* subscription = plugin_state.subscriptions; subscription != nullptr;
       subscription = subscription->next) {
    if (rank >= 0 && subscription->rank == static_cast<std::uint32_t>(rank))
      merge(subscription->choice, choice);
  }
}

// The functions that NCCL calls.
namespace plugin {

constexpr int kKinds = profiler::kCollective | profiler::kPointToPoint;

Result begin(void** context, int* mask, int kinds = kKinds) noexcept {
  const std::scoped_lock lock(plugin_state.mutex);
  *context = &plugin_state;  // null would mean that the plugin failed
  ++plugin_state.communicators;
  plugin_state.mask = mask;
  plugin_state.kinds = kinds;
  plugin_state.set_mask();
  return kSuccess;
}

// What follows the mask describes the communicator.
template <class... Rest>
Result init(void** context, int* mask, Rest... /*of_communicator*/) {
  return begin(context, mask);
}
template <bool kTellsCopies, class... Rest>
Result init5(void** context, std::uint64_t /*comm_id*/, int* mask, Rest... /*of_communicator*/) {
  return begin(context, mask, kTellsCopies ? kKinds | profiler::kCopyEngines : kKinds);
}

/// Events are not followed to their end, so only groups get a handle: without it, NCCL before 2.28
/// does not report the events in the group.
template <class Event, bool kTellsSends>
Result start(void* /*context*/, void** handle, Event* event) {
  *handle = event->kind == profiler::kGroup ? &plugin_state : nullptr;
  if (event->kind == profiler::kCollective) tell(event->rank, to_choice(event->collective));
  if (event->kind == profiler::kPointToPoint) {
    tell(event->rank,
         {.sends = true, .channels = kTellsSends ? event->point_to_point.channels : 0U});
  }
  if constexpr (sizeof event->kind > 1) {  // before version 5 a kind has 8 bits
    if (event->kind == profiler::kCopyEngines) tell(event->rank, {.copies = true});
  }
  return kSuccess;
}
Result stop(void* /*handle*/) {
  return kSuccess;
}
Result record(void* /*handle*/, int /*state*/, void* /*arguments*/) {
  return kSuccess;
}
Result finalize(void* /*context*/) {
  const std::scoped_lock lock(plugin_state.mutex);
  if (--plugin_state.communicators == 0) plugin_state.mask = nullptr;
  return kSuccess;
}

}  // namespace plugin

/// Whether NCCL's dlopen(NULL) finds our table, not another one.
bool program_exports_it();

}  // namespace

extern "C" {
extern const profiler::Table1 ncclProfiler_v1;
extern const profiler::Table2 ncclProfiler_v2;
extern const profiler::Table3 ncclProfiler_v3;
extern const profiler::Table4 ncclProfiler_v4;
extern const profiler::Table5 ncclProfiler_v5;
extern const profiler::Table6 ncclProfiler_v6;
const profiler::Table1 ncclProfiler_v1{
    kPluginName,  plugin::init,   plugin::start<profiler::Event1, false>,
    plugin::stop, plugin::record, plugin::finalize};
const profiler::Table2 ncclProfiler_v2{
    kPluginName,  plugin::init,   plugin::start<profiler::Event2, false>,
    plugin::stop, plugin::record, plugin::finalize};
const profiler::Table3 ncclProfiler_v3{
    kPluginName,  plugin::init,   plugin::start<profiler::Event3, false>,
    plugin::stop, plugin::record, plugin::finalize};
const profiler::Table4 ncclProfiler_v4{
    kPluginName,  plugin::init,   plugin::start<profiler::Event4, true>,
    plugin::stop, plugin::record, plugin::finalize};
const profiler::Table5 ncclProfiler_v5{
    kPluginName,  plugin::init5<false>, plugin::start<profiler::Event5, true>,
    plugin::stop, plugin::record,       plugin::finalize};
const profiler::Table6 ncclProfiler_v6{
    kPluginName,  plugin::init5<true>, plugin::start<profiler::Event6, true>,
    plugin::stop, plugin::record,      plugin::finalize};
}  // extern "C"

namespace {

bool program_exports_it() {
  const std::unique_ptr<void, int (*)(void*)> program(dlopen(nullptr, RTLD_NOW), &dlclose);
  return program != nullptr && dlsym(program.get(), "ncclProfiler_v6") == &ncclProfiler_v6;
}

}  // namespace

std::string to_text(const Choice& choice) {
  if (choice.copies && !choice.collective) return "copies by the GPU's copy engines";
  if (!choice.collective && !choice.sends) return "unknown";
  const std::string channels =
      fmt::format("{}{} channels", choice.at_most ? "at most " : "", choice.channels);
  if (choice.sends) return "sends and receives, " + channels;
  return fmt::format("{}, {}, {}", choice.algorithm.data(), choice.protocol.data(), channels);
}

report::Facts to_facts(const Choice& choice) {
  const auto unknown = [](const char* why) {
    return report::Fact{"algorithm_unknown", std::string(why)};
  };
  const report::Fact channels{choice.at_most ? "channels_at_most" : "channels",
                              std::uint64_t{choice.channels}};
  if (choice.copies && !choice.collective) {
    return {unknown("NCCL copied with the GPU's copy engines, which have no algorithm")};
  }
  if (choice.sends) {
    report::Facts facts{unknown("NCCL's sends and receives have no algorithm")};
    if (choice.channels > 0) facts.push_back(channels);
    return facts;
  }
  if (!choice.collective) {
    return {
        unknown("NCCL reported no collective to its profiler: it reports neither one of a single "
                "rank nor, before 2.29, copies by the GPU's copy engines")};
  }
  if (choice.algorithm[0] == '\0' || std::string_view(choice.algorithm.data()) == "Unknown") {
    return {unknown("NCCL reported a collective without the name of its algorithm")};
  }
  // For symmetric kernels NCCL 2.27 to 2.30 leaves zeros, which mean TREE and LL.
  if (choice.channels == 0) {
    return {
        unknown("NCCL reported no channels: its kernels for symmetric memory have none, and no "
                "algorithm")};
  }
  return {{"algorithm", std::string(choice.algorithm.data())},
          {"protocol", std::string(choice.protocol.data())},
          channels};
}

Profiler::Profiler(int nccl_version, std::uint32_t rank) : subscription_{.rank = rank} {
  if (nccl_version < profiler::kHasProfiler) {
    reason_ = fmt::format("NCCL {} does not report its choices: profiler plugins came with 2.23",
                          version_text(nccl_version));
  } else if (const std::string where =
                 set_by_user({kPluginSetting}, home_of_settings(nccl_version));
             !where.empty()) {
    reason_ = fmt::format("{} is set, so NCCL's profiler is the user's", where);
  } else if (!program_exports_it()) {
    reason_ = "this program was linked without the names by which NCCL finds its profiler";
  }
}

LentSettings Profiler::lend() const {
  if (!reason_.empty()) return LentSettings(LentSettings::Values{});
  return LentSettings(LentSettings::Values{{kPluginSetting, kThisProgram}});
}

Profiler::~Profiler() {
  stop();
}

std::string Profiler::unavailable() const {
  if (!reason_.empty()) return reason_;
  const std::scoped_lock lock(plugin_state.mutex);
  return plugin_state.mask != nullptr ? "" : "NCCL did not load this program's profiler plugin";
}

void Profiler::listen() noexcept {
  const std::scoped_lock lock(plugin_state.mutex);
  subscription_.choice = {};
  subscription_.next = plugin_state.subscriptions;
  plugin_state.subscriptions = &subscription_;
  plugin_state.set_mask();
}

Choice Profiler::stop() noexcept {
  const std::scoped_lock lock(plugin_state.mutex);
  for (Subscription** at = &plugin_state.subscriptions; *at != nullptr; at = &(*at)->next) {
    if (*at != &subscription_) continue;
    *at = subscription_.next;
    break;
  }
  plugin_state.set_mask();
  return subscription_.choice;
}

}  // namespace rdmabench::inline v1::collective::nccl
