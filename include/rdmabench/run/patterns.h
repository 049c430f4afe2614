// Traffic patterns of a user: run by run::run() and served by run::Server like the built-in ones.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "rdmabench/endpoints.h"
#include "rdmabench/measure/clock.h"
#include "rdmabench/transport/transport.h"
#include "rdmabench/workload/epoch.h"

namespace rdmabench::inline v1::run {

/// One side of a pattern over endpoints of type T: runs plan.iterations messages, each of plan.size
/// bytes or of less: the endpoint is opened for the largest of Config::sizes, and what is longer or
/// not among the operations fails. It is called once for each epoch, warm-up included. A message
/// that arrived lies in slot i = Received::slot at region.data + i % region.slots * region.stride
/// of region = endpoint.receive_region(). The initiator sends first: what reaches a side before it
/// is called is dropped. The initiator writes how long message i took into intervals[i], in the
/// ticks of measure::stamp_now(); the target has no intervals. It waits by workload::EpochIo or
/// asks `watch` after each empty poll, so that no wait is without a deadline. A side returns `ok`
/// after plan.iterations messages alone, when all that it posted has completed and all receives are
/// given back; else an outcome that is not ok, and in `message` which message it concerns. Neither
/// side may throw.
template <transport::Transport T>
using PatternLoop = workload::EpochResult (*)(T& endpoint, const workload::EpochPlan& plan,
                                              workload::Watch& watch,
                                              std::span<measure::Ticks> intervals) noexcept;

/// What a pattern needs.
struct PatternNeeds {
  transport::OperationSet operations;  ///< what it posts
  /// It rests on the order of messages, as kOrdersMessages of transport/transport.h tells: it runs
  /// over endpoints that have it, which libfabric's and several queue pairs have not.
  bool ordered = false;
  /// Completions are to say that the data are in the target's memory (FI_DELIVERY_COMPLETE): sends
  /// over libfabric's ofi_rxm and some devices have less, as Description::completion tells.
  bool delivery = false;
  /// Slots of each side's send region and window, at least; 0: Config::traffic.depth. Each holds a
  /// message of the largest of Config::sizes.
  std::uint32_t slots = 0;
  /// Bytes that each of Config::sizes has at least: smaller ones are refused.
  std::uint64_t least_size = 1;
};

namespace detail {

/// The loops of a pattern over one endpoint type; the second of each compares every byte.
struct PatternLoops {
  std::type_index endpoint;
  workload::AnyLoop initiator[2];
  workload::AnyLoop target[2];
};

void add_pattern(std::string_view name, const PatternNeeds& needs, std::vector<PatternLoops> loops);

template <class Pattern, class T, class... Ops>
constexpr bool runs_over(transport::OperationList<Ops...> /*all*/) {
  return (T::kOrdersMessages || !Pattern::kNeeds.ordered) &&
         ((!Pattern::kNeeds.operations.has(Ops::kCode) || T::template supports<Ops>)&&...);
}

/// Enters the loops over T, where it has what the pattern needs.
template <class Pattern, class T>
void add_loops(std::vector<PatternLoops>& loops) {
  if constexpr (runs_over<Pattern, T>(transport::Operations{})) {
    constexpr bool kHasBoth = requires {
      PatternLoop<T>{&Pattern::template initiator<T, false>};
      PatternLoop<T>{&Pattern::template target<T, false>};
    };
    static_assert(kHasBoth,
                  "a pattern needs, as static members, "
                  "template <transport::Transport T, bool kValidate> workload::EpochResult "
                  "initiator(T& endpoint, const workload::EpochPlan& plan, workload::Watch& watch, "
                  "std::span<measure::Ticks> intervals) noexcept, and the same as target()");
    if constexpr (kHasBoth) {
      const auto erased = [](PatternLoop<T> loop) {
        return reinterpret_cast<workload::AnyLoop>(loop);
      };
      loops.push_back({typeid(T),
                       {erased(&Pattern::template initiator<T, false>),
                        erased(&Pattern::template initiator<T, true>)},
                       {erased(&Pattern::template target<T, false>),
                        erased(&Pattern::template target<T, true>)}});
    }
  }
}

}  // namespace detail

/// What add_pattern() takes; of its two loops the compiler asks for each endpoint type.
template <class Pattern>
concept TrafficPattern = requires {
  { Pattern::kName } -> std::convertible_to<std::string_view>;
  { Pattern::kNeeds } -> std::convertible_to<PatternNeeds>;
};

/// Registers a pattern with this process, for every endpoint type of this build that has its
/// operations. The client and the server of a session must both have registered it. A Pattern is
///
///   struct Scatter {
///     static constexpr std::string_view kName = "example.com/scatter";  // vendor/name
///     static constexpr run::PatternNeeds kNeeds{.operations = {...}};
///     template <transport::Transport T, bool kValidate>
///     static workload::EpochResult initiator(...) noexcept;             // a PatternLoop<T>
///     template <transport::Transport T, bool kValidate>
///     static workload::EpochResult target(...) noexcept;
///   };
///
/// A session of it: Config::traffic.pattern = Scatter::kName; in braces, which are an initialiser,
/// std::string(Scatter::kName). Depth, receives, sizes and everything else is that of Config.
/// traffic.working_set is how many bytes of slots each side has; by default traffic.depth slots to
/// send from, or as many as the pattern needs, and traffic.receives to receive in. Where the
/// pattern calls post_list(), endpoint.post_list is its longest list. Before each epoch the windows
/// are filled with zeros. Config::traffic.validate chooses kValidate: what is compared, and with
/// what, is up to the pattern, and the report's `validated` says no more than that it was asked to.
/// A result that is not ok ends the run with its error.
///
/// Throws Error(usage) for a name that is not vendor/name in small letters or is registered. Thread
/// rule: any thread; but before the sessions that use it. `Own` are endpoint types of back ends
/// that this process has added (run/worker.h).
template <class Pattern, transport::Transport... Own>
void add_pattern() {
  static_assert(
      TrafficPattern<Pattern>,
      "a pattern needs: static constexpr std::string_view kName = \"vendor/name\"; static "
      "constexpr rdmabench::run::PatternNeeds kNeeds{.operations = {...}};");
  if constexpr (TrafficPattern<Pattern>) {
    std::vector<detail::PatternLoops> loops;
    transport::for_each_endpoint_type(
        [&](auto type) { detail::add_loops<Pattern, typename decltype(type)::type>(loops); });
    (detail::add_loops<Pattern, Own>(loops), ...);
    detail::add_pattern(Pattern::kName, Pattern::kNeeds, std::move(loops));
  }
}

}  // namespace rdmabench::inline v1::run
