// What the coordinator and an agent say to each other, over control/'s frames.
//
//   agent                                 coordinator
//   hello    {token, rank, size, host} ->
//                                      <- hello    {plan}
//   ready    {rails, ports, facts}     ->                     it is warm, and serves its ports
//                                      <- request  {order}    } as often as
//   result   {cells}, several times    ->                     } the plan says
//                                      <- ready    {}         } at any time:
//   ready    {}                        ->                     } are you there?
//                                      <- bye
//
// Either side may send abort {reason} instead of anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/fabric/matrix.h"

namespace rdmabench::fabric {

inline constexpr std::size_t kMaxToken = 64;  ///< bytes

struct AgentHello {
  std::string token{};  ///< of the run: another run's agent may knock at the same port
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::string host{};
};

struct Ready {
  std::vector<std::string> rails{};
  std::vector<std::uint16_t> ports{};  ///< of its servers, one for each rail
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
  std::uint32_t senders = 1;  ///< of one target: they start together, see SharedOptions::clients
  std::vector<std::uint32_t> rails{};
  std::vector<Target> targets{};
};

/// Some of an order's cells; `last` ends it.
struct Results {
  std::uint64_t number = 0;
  bool last = false;
  std::vector<Measurement> cells{};  ///< without round, pattern and sender
};

std::string to_text(const AgentHello& hello);
std::string plan_text(const FabricPlan& plan);
std::string to_text(const Ready& ready);
std::string to_text(const MeasureOrder& order);
std::string to_text(const Results& results);

// Each throws Error that names the field, its value and its bounds.
AgentHello parse_hello(std::string_view text);
FabricPlan parse_plan(std::string_view text);
Ready parse_ready(std::string_view text);
MeasureOrder parse_measure_order(std::string_view text);
Results parse_results(std::string_view text);

}  // namespace rdmabench::fabric
