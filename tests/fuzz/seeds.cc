#include "seeds.h"

#include <string_view>

#include "collective/commands.h"
#include "control/admission.h"
#include "control/frame.h"
#include "control/handshake.h"
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

namespace rdmabench::inline v1::fuzz {
namespace {

void add_frames(std::vector<Seed>& list) {
  const auto frame = [](control::MessageType type, std::string_view payload) {
    const auto header = control::encode_header({type, static_cast<std::uint32_t>(payload.size())});
    return std::string(header.data(), header.size()).append(payload);
  };
  const std::string fields = R"({"u":8,"i":-1,"d":0.5,"b":true,"s":"rxe0","l":[1,2,3],"o":{}})";
  using run::SessionMessage;
  const std::string request = frame(SessionMessage::request, fields);
  list.push_back({"frame", "seed-request", request});
  const std::string conversation = frame(control::AdmissionMessage::hello, "") + request +
                                   frame(SessionMessage::ready, "") +
                                   frame(SessionMessage::abort, "out of memory");
  list.push_back({"frame", "seed-channel-whole", "c\xff" + conversation});
  list.push_back({"frame", "seed-channel-in-pieces", "c\x07" + conversation});
  const std::string nonce(32, 'n');
  const std::string greeting = frame(control::HandshakeMessage::greeting, "\1" + nonce);
  const std::string proof = frame(control::HandshakeMessage::proof, nonce + nonce + "MUNGE:AwQF:");
  list.push_back({"frame", "seed-stranger-greeting", "s " + greeting + proof});
  list.push_back({"frame", "seed-stranger-proof", "sp" + proof});
  list.push_back({"frame", "seed-stranger-munge", "sm" + proof});
  list.push_back({"frame", "seed-channel-cut-off", "c\x40" + request.substr(0, 40)});
}

void add_admission(std::vector<Seed>& list) {
  using namespace control;
  list.push_back(
      {"payload", "seed-hello", "h" + to_text(RankHello{.rank = 1, .size = 8, .host = "n1"})});
  list.push_back(
      {"payload", "seed-bootstrap",
       "B" +
           to_text(BootstrapAddress{
               .run_id = "0a1b", .port = 7, .addresses = {"10.0.0.1", "fd00::1"}, .key = "2c3d"})});
}

void add_jobs(std::vector<Seed>& list) {
  const auto add = [&](std::string_view name, const std::string& bytes) {
    list.push_back({"payload", "seed-" + std::string(name), bytes});
  };
  add("fabric-plan", "l" + fabric::to_text(fabric::PlanOrder{{.rails = {"mlx5_0"}}}));
  add("fabric-ready", "d" + fabric::to_text(fabric::Ready{
                                .rails = {"mlx5_0"}, .ports = {7}, .environment = {{"cpu", "x"}}}));
  add("fabric-order", "m" + fabric::to_text(fabric::MeasureOrder{
                                .number = 3,
                                .rails = {0},
                                .targets = {{.rank = 1, .address = "::1", .ports = {7}}}}));
  add("fabric-results", "R" + fabric::to_text(fabric::Results{
                                  .number = 3,
                                  .last = true,
                                  .cells = {{.receiver = 1, .size_bytes = 8, .value = 2.5}}}));
  add("fabric-bytes",
      "b" + fabric::to_text(std::vector<fabric::DeviceBytes>{
                {.device = "eth0", .planned = 8, .measurements = 1, .counted = 9}}));
  add("rank-command", "g" + collective::to_text(collective::RankCommand{
                                .call = {.count = 8}, .samples = 2, .group_of = {0, 1}}));
  add("rank-state", "y" + collective::to_text(collective::RankState{}));
  add("rank-epoch", "E" + collective::to_text(collective::Epoch{.stamps = {{1, 2}, {3, 4}}}));
  collective::RankReport report;
  report.facts = {{"device", "mlx5_0"}, {"gpudirect", true}, {"gpu_ordinal", std::uint64_t{3}}};
  add("rank-report", "k" + collective::to_text(report));
  add("peer-servers", "V" + collective::to_text(std::vector<collective::PeerServer>{
                                {"10.0.0.1", 7, "host"}, {"::1", 8, "cuda:0"}}));
  add("wire-steps",
      "W" + collective::to_text(std::vector<collective::WireStep>{{"", {65536, 8, 2, true}, {}}}));
  add("peer-server", "v" + collective::to_text(collective::PeerServer{"n1", 7, "cuda:0"}));
  add("rank-pair", "w" + collective::to_text(collective::PointToPointResult{
                             .to = 1, .bits_per_s = 2e11, .route = "verbs mlx5_0:1 rc"}));
}

void add_plugin_checks(std::vector<Seed>& list) {
  const auto add = [&](std::string_view name, const std::string& bytes) {
    list.push_back({"payload", "seed-plugin-" + std::string(name), bytes});
  };
  add("hello", "n" + netplugin::to_text(
                         netplugin::PluginHello{8, "IB", {10, 9}, {{"cpus", std::uint64_t{2}}}}));
  add("task", "t" + netplugin::to_text(netplugin::Task{.id = "latency",
                                                       .version = 10,
                                                       .bytes = 64,
                                                       .iterations = 9,
                                                       .timeout = std::chrono::seconds(10)}));
  add("result", "u" + netplugin::to_text(netplugin::TaskResult{
                          .reason = "of 8 bytes 4 came", .side = "both", .values = {{"us", 2.5}}}));
  add("properties",
      "D" + nlohmann::json(write_fields(netplugin::Properties{.name = "mlx5_0",
                                                              .guid = std::uint64_t{1} << 63U,
                                                              .speed_mbps = 400000,
                                                              .latency_us = 1.5,
                                                              .rail_id = -1}))
                .dump());
}

void add_run(std::vector<Seed>& list) {
  run::Request request;
  request.spec.traffic.shape = workload::Shape::bandwidth;
  request.spec.traffic.operation = transport::OperationCode::write_imm;
  request.spec.max_size = 65536;
  request.spec.traffic.depth = 128;
  request.spec.traffic.signal_every = 32;
  request.spec.endpoint.ofi.provider = "tcp";
  request.rails = {{{"verbs", "", "no RDMA device here"}, {"ofi", R"({"api":1})", ""}}};
  list.push_back({"payload", "seed-request-bandwidth", "r" + run::to_text(request)});
  list.push_back({"payload", "seed-offers", "o" + run::to_text(request.rails.front())});
  request.spec = {};
  list.push_back({"payload", "seed-request-latency", "r" + run::to_text(request)});
  list.push_back({"payload", "seed-selection", "s" + run::to_text(run::Selection{"ofi", {"{}"}})});
  const report::Facts facts{
      {"hostname", std::string("n1")}, {"cpus", std::uint64_t{2}}, {"ghz", 2.5}, {"smt", true}};
  list.push_back(
      {"payload", "seed-introduction",
       "i" + run::to_text(run::Introduction{.addresses = {"{}"}, .environment = facts})});
  list.push_back({"payload", "seed-epoch",
                  "e" + run::to_text(run::EpochOrder{.size = 64, .iterations = 9, .rate = 1e6})});
  list.push_back({"payload", "seed-extension", "x" + run::to_text(run::Extension{9})});
  list.push_back({"payload", "seed-readiness",
                  "q" + run::to_text(run::Readiness{.writes = {.bytes = 4096, .promised = true}})});
  list.push_back({"payload", "seed-report",
                  "p" + run::to_text(run::EpochReport{.arrived = 9, .succeeded = 9})});
  health::RunConditions conditions;
  conditions.counters = {{.device = "d", .name = "n", .kind = "error", .source = "s", .change = 1}};
  health::ThreadPlacement& thread = conditions.threads.emplace_back();
  thread.affinity = "0-3";
  thread.migrations = 1;
  thread.stolen = 0.5;
  conditions.notes = {"note"};
  list.push_back({"payload", "seed-farewell", "f" + run::to_text(run::Farewell{conditions})});
  list.push_back(
      {"payload", "seed-config",
       R"(C{"host":"n1","port":18515,"shape":"bandwidth","operation":"write","sizes":[8,64],)"
       R"("depth":64,"stop":{"max_noise":0.01,"max_time_s":2.5},"cpus":[0,1],"devices":["rxe0"],)"
       R"("requirements":"no-shm","validate":true})"});
  list.push_back(
      {"payload", "seed-config-sizes", R"(C{"sizes":"1:64K","counts":[5,6],"rate":1e5})"});
}

#if RDMABENCH_HAVE_VERBS
void add_verbs(std::vector<Seed>& list) {
  using rdmabench::verbs::Candidate;
  using rdmabench::verbs::GidType;
  using rdmabench::verbs::LinkLayer;
  const auto gid = [](std::string_view text) { return *rdmabench::verbs::parse_gid(text); };
  const std::vector<Candidate> offer{{.device = "rxe0",
                                      .link_layer = LinkLayer::ethernet,
                                      .mtu = 1024,
                                      .gbps = 100,
                                      .gid = {1, gid("10.0.0.2"), GidType::roce_v2, "eth0", 24}},
                                     {.device = "mlx5_0",
                                      .link_layer = LinkLayer::infiniband,
                                      .mtu = 4096,
                                      .lid = 9,
                                      .gbps = 400,
                                      .gid = {0, gid("fe80::3"), GidType::ib, "", -1}},
                                     {.device = "efa_0",
                                      .link_layer = LinkLayer::efa,
                                      .mtu = 4096,
                                      .lid = 1,
                                      .gbps = 100,
                                      .gid = {0, gid("fe80::4"), GidType::ib, "", -1}}};
  list.push_back({"payload", "seed-verbs-offer", "O" + transport::verbs::write_offer(offer)});
  list.push_back({"payload", "seed-verbs-placement",
                  "P" + transport::verbs::write_local_path({.device = "rxe0",
                                                            .port = 1,
                                                            .gid_index = 1,
                                                            .global = true,
                                                            .mtu = 1024,
                                                            .reason = "same subnet"})});
  list.push_back({"payload", "seed-verbs-address",
                  "A" + transport::verbs::write_address(
                            {.queue_pairs = 2,
                             .queues = {{17, 0x123456, 0, 0xabcd}, {18, 1, 0, 0xabce}},
                             .lid = 0,
                             .gid = gid("10.0.0.2"),
                             .mtu = 1024,
                             .reads_in = 16,
                             .window = 0x7f0000000000,
                             .window_bytes = 65536,
                             .stride = 64,
                             .more_regions = {{0x7f0000100000, 4096, 0xabcf}}})});
  list.push_back(
      {"payload", "seed-verbs-address-dc",
       "A" + transport::verbs::write_address({.service = transport::Service::dc,
                                              .queues = {{17, 0x123456, 0xfffffe, 0xabcd}},
                                              .dc_key = 0xfedcba9876543210,
                                              .gid = gid("10.0.0.2"),
                                              .mtu = 4096,
                                              .reads_in = 16,
                                              .window = 0x7f0000000000,
                                              .window_bytes = 65536,
                                              .stride = 64})});
}
#endif

#if RDMABENCH_HAVE_OFI
void add_ofi(std::vector<Seed>& list) {
  const transport::ofi::Fit fit{.provider = "tcp;ofi_rxm",
                                .domain = "eth0",
                                .fabric = "10.0.0.0/24",
                                .source = "10.0.0.2",
                                .protocol = 7,
                                .addr_format = 2};
  list.push_back({"payload", "seed-ofi-offer", "1" + transport::ofi::write_offer({"n1", {fit}})});
  list.push_back({"payload", "seed-ofi-fit", "2" + transport::ofi::write_fit(fit)});
  list.push_back({"payload", "seed-ofi-address",
                  "3" + transport::ofi::write_address({.provider = "tcp;ofi_rxm",
                                                       .protocol = 7,
                                                       .addr_format = 2,
                                                       .names = {std::string("\x02\x00\xab", 3)},
                                                       .window_base = 4096,
                                                       .window_bytes = 65536,
                                                       .window_key = 3,
                                                       .more_regions = {{8192, 4096, 4}}})});
}
#endif

#if RDMABENCH_HAVE_UCX
void add_ucx(std::vector<Seed>& list) {
  list.push_back({"payload", "seed-ucx-offer",
                  "4" + transport::ucx::write_offer(
                            {.version = "1.13.1", .transports = {"self", "tcp", "rc_verbs"}})});
  list.push_back({"payload", "seed-ucx-address",
                  "5" + transport::ucx::write_address(
                            {.version = "1.13.1",
                             .worker = std::string("\x00\x2f\xab", 3),
                             .queue_pairs = 2,
                             .service = transport::Service::am,
                             .regions = {{4096, 65536, "key"}, {131072, 4096, "\x01"}}})});
}
#endif

}  // namespace

std::vector<Seed> seeds() {
  std::vector<Seed> list;
  add_frames(list);
  add_admission(list);
  add_jobs(list);
  add_plugin_checks(list);
  add_run(list);
#if RDMABENCH_HAVE_VERBS
  add_verbs(list);
#endif
#if RDMABENCH_HAVE_OFI
  add_ofi(list);
#endif
#if RDMABENCH_HAVE_UCX
  add_ucx(list);
#endif
  return list;
}

}  // namespace rdmabench::inline v1::fuzz
