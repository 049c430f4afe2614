// The version of the protocol changes when the fields of a message do: two programs that would
// misunderstand each other refuse each other instead.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "collective/commands.h"
#include "collective/packing.h"
#include "control/admission.h"
#include "fabric/messages.h"
#include "netplugin/messages.h"
#include "rdmabench/control/rendezvous.h"
#include "rdmabench/features.h"
#include "run/protocol.h"
#if RDMABENCH_HAVE_VERBS
#include "transport/verbs/messages.h"
#endif
#if RDMABENCH_HAVE_OFI
#include "transport/ofi/messages.h"
#endif
#if RDMABENCH_HAVE_UCX
#include "transport/ucx/messages.h"
#endif

namespace rdmabench::inline v1 {
namespace {

using Json = nlohmann::json;

/// One message of each kind with every field, by name.
using Messages = std::vector<std::pair<std::string, std::string>>;

Messages admission() {
  return {{"bootstrap address",
           to_text(control::BootstrapAddress{.run_id = "t", .port = 1, .addresses = {"::1"}})},
          {"hello", to_text(control::RankHello{.run_id = "t", .rank = 1, .size = 2, .host = "n"})}};
}

health::RunConditions watched() {
  health::RunConditions conditions;
  conditions.counters = {{.device = "d", .name = "n", .kind = "error", .source = "s", .change = 1}};
  health::ThreadPlacement& thread = conditions.threads.emplace_back();
  thread.migrations = 1;
  thread.sibling_busy = 0.5;
  thread.stolen = 0.5;
  conditions.devices = {{"d", 0}};
  conditions.notes = {"note"};
  return conditions;
}

Messages session() {
  using namespace run;
  const report::Facts facts{{"text", std::string("n")}};
  Request request;
  request.rails = {{{"verbs", "{}", ""}}};
  return {{"request", to_text(request)},
          {"offers", to_text(request.rails.front())},
          {"selection", to_text(Selection{"verbs", {"{}"}})},
          {"introduction", to_text(Introduction{{"{}"}, facts})},
          {"readiness", to_text(Readiness{})},
          {"epoch", to_text(EpochOrder{})},
          {"extension", to_text(Extension{})},
          {"report", to_text(EpochReport{})},
          {"farewell", to_text(Farewell{watched()})}};
}

Messages group() {
  using namespace collective;
  Epoch epoch;
  epoch.checked.first = Wrong{.pattern = "zero", .expected = "1", .actual = "0"};
  RankReport report;
  report.facts = {{"text", std::string("n")}};
  report.counters = {{.device = "d", .name = "n", .kind = "k", .source = "s", .change = 1}};
  report.notes = {"note"};
  return {{"command", to_text(RankCommand{})},
          {"epoch", unpack(to_text(epoch), 2)[1]},
          {"report", to_text(report)},
          {"state", to_text(RankState{})},
          {"server", to_text(PeerServer{})},
          {"servers", to_text(std::vector<PeerServer>(1))},
          {"steps", to_text(std::vector<WireStep>(1))},
          {"pair", to_text(PointToPointResult{})}};
}

Messages fabric_messages() {
  using namespace fabric;
  FabricPlan plan;
  plan.rails = {"mlx5_0"};
  Measurement cell{.value = 1, .p99_ns = 2};
  cell.notes = {"note"};
  return {
      {"plan", to_text(PlanOrder{plan})},
      {"ready", to_text(Ready{.rails = {"r"}, .ports = {1}, .environment = {{"n", "v"}}})},
      {"order", to_text(MeasureOrder{.number = 1,
                                     .senders = 1,
                                     .rails = {0},
                                     .targets = {{.rank = 1, .address = "::1", .ports = {1}}}})},
      {"results", to_text(Results{.number = 1, .last = true, .cells = {cell}})},
      {"bytes", to_text(std::vector<DeviceBytes>{
                    {.device = "d", .planned = 1, .measurements = 1, .counted = 1.0}})}};
}

Messages netplugin_messages() {
  using namespace netplugin;
  return {{"task", to_text(Task{})}};
}

#if RDMABENCH_HAVE_VERBS
Messages verbs_messages() {
  using namespace transport::verbs;
  const auto gid = *rdmabench::verbs::parse_gid("fe80::1");
  std::vector<rdmabench::verbs::Candidate> candidates(1);
  candidates[0].gid = {0, gid, rdmabench::verbs::GidType::roce_v2, "eth0", 24};
  return {{"offer", write_offer(candidates)},
          {"placement", write_local_path({.device = "d", .mtu = 1024, .reason = "r"})},
          {"address", write_address({.queues = {{1, 2, 3}}, .gid = gid, .mtu = 1024})}};
}
#endif

#if RDMABENCH_HAVE_OFI
Messages ofi_messages() {
  using namespace transport::ofi;
  Fit fit;
  fit.provider = "tcp";
  return {{"offer", write_offer({"n1", {fit}})},
          {"fit", write_fit(fit)},
          {"address", write_address({.provider = "tcp", .names = {"n"}})}};
}
#endif

#if RDMABENCH_HAVE_UCX
Messages ucx_messages() {
  using namespace transport::ucx;
  return {
      {"offer", write_offer({"1.13.1", {"tcp"}})},
      {"address", write_address({"1.13.1", "w", 1, transport::Service::am, {{4096, 4096, "k"}}})}};
}
#endif

/// "{a:number,b:[{c:text}]}": names and kinds, no values.
std::string shape(const Json& json) {
  if (json.is_object()) {
    std::string text = "{";
    for (const auto& [key, value] : json.items()) text += key + ":" + shape(value) + ",";
    return text + "}";
  }
  if (json.is_array()) return "[" + (json.empty() ? "" : shape(json.front())) + "]";
  return json.is_number() ? "number" : json.type_name();
}

std::string listing(const Messages& messages) {
  std::string text;
  for (const auto& [name, message] : messages) text += name + shape(Json::parse(message)) + "\n";
  return text;
}

/// FNV-1a, 64 bits.
std::uint64_t digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return hash;
}

struct Recorded {
  const char* protocol;
  std::uint16_t version;  ///< since which the fields are these
  std::uint64_t digest;
};

// Only ever add a row. When the fields of a message changed: raise control::kProtocolVersion
// (include/rdmabench/control/channel.h) and add a row with that version and the digest that the
// failed test prints.
constexpr std::array kRecorded{
    Recorded{"admission", 2, 0x81d9ba68e7460a5e},
    Recorded{"session", 2, 0xd59295eff1d94d51},
    Recorded{"group", 2, 0x4bd3b8b39811eabf},
    Recorded{"fabric", 2, 0xe8e4757ae06625a6},
    Recorded{"netplugin", 2, 0x98eb2668f68a682c},
    Recorded{"verbs", 2, 0x6a1ac91ca2b687c0},
    Recorded{"ofi", 2, 0x6d9a0b518e746bdb},
    Recorded{"ofi", 3, 0x4db75d829957ac15},
    Recorded{"admission", 3, 0xb13fa19aac8025ae},
    Recorded{"session", 3, 0x10fcbc6138b70554},
    Recorded{"fabric", 3, 0x7e36c2afe0baa7df},
    Recorded{"verbs", 3, 0x6e0f19acd4e1096d},
    Recorded{"group", 4, 0xae12337d0d8e4b40},
    Recorded{"fabric", 5, 0x7e42fa6047c72eb3},
    Recorded{"session", 5, 0x228f425c9fc9f1ef},
    Recorded{"verbs", 5, 0xff3b35ca4f5a3d45},
    Recorded{"session", 6, 0xb99a999818f385f0},
    Recorded{"group", 6, 0xaeda6688cf60e96},
    Recorded{"fabric", 6, 0x65540bd9a883525b},
    Recorded{"session", 7, 0xb99a999818f385f0},  // the same fields: a `ready` behind the choice
    Recorded{"fabric", 7, 0x9ca907dad3becf21},
    Recorded{"session", 8, 0x12ff76db9f932f6e},
    Recorded{"verbs", 8, 0xb869fcace43e6654},
    // The same fields: what the handshake proves, and the codes of frames.
    Recorded{"admission", 9, 0xb13fa19aac8025ae},
    // Of netplugin the same fields: the number of a status is of another list.
    Recorded{"admission", 10, 0xe7e6778d78850d6},
    Recorded{"netplugin", 10, 0x98eb2668f68a682c},
    Recorded{"verbs", 11, 0x6c0fdf4e814f4494},
    Recorded{"session", 12, 0x89a398fabef78d7d},
    Recorded{"session", 13, 0xdff7f4e5ccbb6bb6},
    Recorded{"group", 13, 0x17c09129368c97e3},
    Recorded{"session", 14, 0xa3e2ed9dfcde91bc},
    Recorded{"ucx", 14, 0x5cb16bf4df85deda},
    Recorded{"ucx", 15, 0x57001d496056cb12},
};

TEST(Protocol, TheVersionChangesWithTheFields) {
  const std::map<std::string, Messages> protocols {
    {"admission", admission()}, {"session", session()}, {"group", group()},
        {"fabric", fabric_messages()}, {"netplugin", netplugin_messages()},
#if RDMABENCH_HAVE_VERBS
        {"verbs", verbs_messages()},
#endif
#if RDMABENCH_HAVE_OFI
        {"ofi", ofi_messages()},
#endif
#if RDMABENCH_HAVE_UCX
        {"ucx", ucx_messages()},
#endif
  };
  for (const auto& [protocol, messages] : protocols) {
    const Recorded* last = nullptr;
    for (const Recorded& row : kRecorded) {
      if (protocol == row.protocol) last = &row;
    }
    ASSERT_NE(last, nullptr) << protocol;
    const std::string fields = listing(messages);
    EXPECT_EQ(last->digest, digest(fields))
        << "The fields of " << protocol << " changed: raise control::kProtocolVersion and record "
        << "them here, as 0x" << std::hex << digest(fields) << ":\n"
        << fields;
  }
}

TEST(Protocol, EveryChangeHasAVersionOfItsOwn) {
  std::uint16_t newest = 0;
  for (std::size_t i = 0; i < kRecorded.size(); ++i) {
    EXPECT_GE(kRecorded[i].version, newest) << "rows are in the order of versions";
    newest = kRecorded[i].version;
    for (std::size_t j = 0; j < i; ++j) {
      const bool same = std::string(kRecorded[i].protocol) == kRecorded[j].protocol;
      EXPECT_FALSE(same && kRecorded[i].version == kRecorded[j].version)
          << kRecorded[i].protocol << " changed twice in one version";
    }
  }
  EXPECT_EQ(newest, control::kProtocolVersion);
}

}  // namespace
}  // namespace rdmabench::inline v1
