// What the coordinator and an agent send each other once the agent is admitted
// (control/admission.h).
//
//   agent                                 coordinator
//                                      <- plan    {plan}
//   ready    {rails, ports, ...}       ->                    it serves its ports
//                                      <- order   {order}    } as often as
//   results  {cells}, several times    ->                    } the plan says
//                                      <- ready   {}         } at any time:
//   ready    {}                        ->                    } are you there?
//                                      <- bye
//   bye      {devices}                 ->                    with requirements: what was carried
//
// Either side may send abort {reason} instead of anything.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/walk.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::fabric {

enum class FabricMessage : std::uint16_t {
  abort = control::kAbortCode,
  plan = control::first_code(control::Protocol::fabric),
  ready,
  order,
  results,
  bye,
};
constexpr std::string_view name_of(FabricMessage type) noexcept {
  return control::message_name(
      static_cast<std::uint16_t>(type), control::first_code(control::Protocol::fabric),
      std::array<std::string_view, 5>{"plan", "ready", "order", "results", "bye"});
}

/// The text of a goodbye after which no other launch follows: a node was lost, or the run stopped.
inline constexpr std::string_view kLast = "last";

struct PlanOrder {
  FabricPlan plan{};
};

struct Ready {
  std::vector<std::string> rails{};
  std::vector<std::string> interfaces{};  ///< see Node
  std::vector<std::uint16_t> ports{};     ///< of its servers, one for each rail
  report::Facts environment{};
};

struct Target {
  std::uint32_t rank = 0;
  std::string address{};  ///< numeric
  std::vector<std::uint16_t> ports{};
};

/// Measure against all of these at once.
struct MeasureOrder {
  std::uint64_t number = 0;
  std::uint32_t senders =
      1;  ///< of one target: they start together, see run::Traffic::incast_clients
  std::vector<std::uint32_t> rails{};
  std::vector<Target> targets{};
};

/// Some of an order's cells; `last` ends it.
struct Results {
  std::uint64_t number = 0;
  bool last = false;
  std::vector<Measurement> cells{};  ///< without round, pattern and sender
};

inline constexpr std::size_t kMaxDevices = 256;  ///< of a node, whose bytes are told

void walk(MessageFields& fields, PlanOrder& order);
void walk(MessageFields& fields, Ready& ready);
void walk(MessageFields& fields, MeasureOrder& order);
void walk(MessageFields& fields, Results& results);
void walk(MessageFields& fields, std::vector<DeviceBytes>& devices);
using rdmabench::to_text;

}  // namespace rdmabench::inline v1::fabric
