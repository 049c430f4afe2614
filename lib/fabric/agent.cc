#include "fabric/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/file.h"
#include "control/admission.h"
#include "control/readiness.h"
#include "fabric/nodes.h"
#include "fabric/plan.h"
#include "fabric/schedule.h"
#include "health/run_watch.h"
#include "json_fields.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/results/result.h"
#include "rdmabench/run/backends.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/server.h"

namespace rdmabench::inline v1::fabric {
namespace {

using std::chrono::nanoseconds;

constexpr auto kSendLimit = std::chrono::seconds(5);

/// On how many ports of this machine an endpoint of RDMA can be opened: what a library, a
/// permission or a link keeps away counts for nothing. Slingshot's devices are libfabric's alone.
std::uint64_t rdma_ports(const std::string& root) {
  int error = 0;
  std::uint64_t ports = list_folder(root + "/sys/class/cxi", error).size();
  try {
    for (const transport::DeviceInfo& device : run::find_backend("verbs").devices()) {
      if (device.state == "active") ++ports;
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it has none
  }
  return ports;
}

/// What nodes.h reads.
void add_node_facts(report::Facts& environment, const std::string& root) {
  environment.push_back({std::string(kRdmaPorts), rdma_ports(root)});
  const health::FileTree tree(std::make_shared<health::FolderStore>(root));
  for (health::Peer::Observation& one : health::compared_observations(tree)) {
    if (environment.size() == kMaxFacts) return;
    environment.push_back(
        {std::string(kObserved) + one.id, ascii_only(one.observed, kMaxText - 4)});
  }
}

class Agent {
 public:
  Agent(const AgentOptions& options, control::Channel channel, FabricPlan plan)
      : options_(options), channel_(std::move(channel)), plan_(std::move(plan)) {}

  /// Returns when the coordinator says goodbye. What ends it otherwise is told to the coordinator,
  /// which may wait for others for `wait` before it speaks.
  AgentEnd serve_until_goodbye(nanoseconds wait) {
    try {
      open();
    } catch (const std::exception& error) {
      if (channel_.interrupted()) throw;  // else nobody would say it
      channel_.abort(error.what());       // the coordinator names this node as lost, and says why
      return {.left_early = error.what()};
    }
    try {
      follow_orders(wait);
    } catch (const std::exception& error) {
      channel_.abort(error.what());
      throw;
    }
    return end_;
  }

 private:
  /// Opens what is needed, so that the first round finds it open, and says so.
  void open() {
    Ready ready;
    for (std::uint32_t rail = 0; rail < rails_of(plan_); ++rail) {
      for (const Metric metric : {Metric::latency, Metric::bandwidth}) {
        const run::Config config = config_of(plan_, options_.base, metric, rail);
        if (!config.sizes.empty()) run::check_this_side(config);
      }
      const std::string device = rail < plan_.rails.size() ? plan_.rails[rail] : "";
      run::ServerConfig config;
      config.port = 0;
      config.max_clients = config.max_address_clients = 2 * kMaxFan;
      config.device = device;
      config.authentication = options_.base.authentication;
      config.gid_index = options_.base.placement.gid_index;
      config.allow = config.allow_providers = {"any"};  // each node of the job, by whatever rail
      config.timeout = config_of(plan_, options_.base, Metric::latency, rail).timeout;
      config.max_timeout = std::max(config.max_timeout, config.timeout);
      config.max_memory = config.max_address_memory = std::uint64_t{64} << 30;
      servers_.push_back(std::make_unique<run::ServerThread>(config));
      ready.rails.push_back(device.empty() ? "auto" : device);
      ready.interfaces.push_back(health::network_device_of(device, options_.root));
      ready.ports.push_back(servers_.back()->port());
    }
    ready.environment = report::collect_environment();
    add_node_facts(ready.environment, options_.root);
    if (!options_.base.requirements.empty()) {
      std::vector<std::string> devices = health::rdma_devices(options_.root);
      for (std::string& one : health::network_devices(options_.root)) {
        devices.push_back(std::move(one));
      }
      watch_.emplace(std::move(devices),
                     health::WatchOptions{.root = options_.root, .noise = nanoseconds(0)});
      watch_->begin();
    }
    channel_.send(FabricMessage::ready, to_text(ready), Deadline::after(kSendLimit));
  }

  void follow_orders(nanoseconds wait) {
    readiness_.watch(channel_, 0);
    Deadline patience = Deadline::after(options_.patience + wait);
    for (;;) {
      readiness_.wait(patience);
      while (const std::optional<control::Message> message = channel_.receive_ready("next order")) {
        patience = Deadline::after(options_.patience);
        if (!handle(*message)) return;
      }
      send_finished();
      if (patience.passed()) {
        throw Error(Fault::failed,
                    fmt::format("the coordinator {} has been silent for {} s", channel_.peer(),
                                options_.patience / std::chrono::seconds(1)));
      }
    }
  }

  bool handle(const control::Message& message) {
    switch (message.type.as<FabricMessage>()) {
      case FabricMessage::ready:
        channel_.send(FabricMessage::ready, {}, Deadline::after(kSendLimit));
        return true;
      case FabricMessage::order:
        begin(parse<MeasureOrder>(message.payload));
        return true;
      case FabricMessage::bye:
        end_.last = message.payload == kLast;
        if (watch_) say_goodbye();
        return false;
      case FabricMessage::abort:
        end_.left_early = fmt::format("the coordinator {} dropped this node: {}", channel_.peer(),
                                      ascii_only(message.payload));
        return false;
      default:
        throw Error(Fault::failed, fmt::format("the coordinator sent '{}' where an order was due",
                                               name_of(message.type.as<FabricMessage>())));
    }
  }

  void begin(MeasureOrder order) {
    check(order);
    if (std::exchange(busy_, true)) {
      throw Error(Fault::failed,
                  fmt::format("order {} came before the last one was done", order.number));
    }
    if (worker_.joinable()) worker_.join();
    worker_ = std::jthread([this, order = std::move(order)] {
      try {
        work(order);
      } catch (const std::exception& error) {  // out of memory, say: the node leaves, and says why
        const std::lock_guard lock(mutex_);
        failure_ = error.what();
        readiness_.wake();
      }
    });
  }

  void work(const MeasureOrder& order) {
    constexpr std::size_t kCellsAtOnce = 256;  // of one message
    Measured measured = run_measure_order(order, plan_, options_.base);
    std::vector<Measurement>& cells = measured.cells;
    for (const auto& [device, transferred] : measured.transferred) {
      transferred_[device].bytes += transferred.bytes;
      transferred_[device].measurements += transferred.measurements;
    }
    std::size_t sent = 0;
    do {
      Results results{.number = order.number, .last = false, .cells = {}};
      for (; sent < cells.size() && results.cells.size() < kCellsAtOnce; ++sent) {
        results.cells.push_back(std::move(cells[sent]));
      }
      results.last = sent == cells.size();
      const std::lock_guard lock(mutex_);
      finished_.push_back(std::move(results));
    } while (sent < cells.size());
    readiness_.wake();
  }

  void send_finished() {
    std::vector<Results> finished;
    {
      const std::lock_guard lock(mutex_);
      if (!failure_.empty()) throw Error(Fault::failed, failure_);
      finished.swap(finished_);
    }
    for (const Results& results : finished) {
      if (results.last) busy_ = false;  // before it is told, for the next order may follow at once
      channel_.send(FabricMessage::results, to_text(results), Deadline::after(kSendLimit));
    }
  }

  void say_goodbye() {
    if (worker_.joinable()) worker_.join();
    channel_.send(FabricMessage::bye, to_text(carried()), Deadline::after(kSendLimit));
  }

  /// The devices that measurements named, then those that counted most.
  std::vector<DeviceBytes> carried() {
    report::CountedBytes counted;
    report::add_counted(counted, watch_->end().bytes, flow_of(plan_));
    std::map<std::string, DeviceBytes> devices;
    for (const auto& [name, transferred] : transferred_) {
      DeviceBytes& one = devices[health::counted_as(name, options_.root)];
      one.planned += transferred.bytes;
      one.measurements += transferred.measurements;
    }
    for (const auto& [name, most] : counted) {
      if (most.bytes == 0 && !devices.contains(name)) continue;
      DeviceBytes& one = devices[name];
      one.at_least = most.at_least;
      one.counted = most.bytes;
    }
    std::vector<DeviceBytes> list;
    for (auto& [name, one] : devices) {
      one.device = name.substr(0, kMaxWord);
      list.push_back(std::move(one));
    }
    std::stable_sort(list.begin(), list.end(), [](const DeviceBytes& a, const DeviceBytes& b) {
      return a.measurements != b.measurements ? a.measurements > b.measurements
                                              : a.counted.value_or(0) > b.counted.value_or(0);
    });
    if (list.size() > kMaxDevices) list.resize(kMaxDevices);
    return list;
  }

  void check(const MeasureOrder& order) const {
    if (order.targets.empty() || order.rails.empty()) {
      throw Error(Fault::failed, "the coordinator's order has no targets or rails");
    }
    for (const std::uint32_t rail : order.rails) {
      if (rail >= rails_of(plan_)) {
        throw Error(Fault::failed, fmt::format("the order names rail {}, but there are {}", rail,
                                               rails_of(plan_)));
      }
    }
    for (const Target& target : order.targets) {
      if (target.rank >= options_.size || target.rank == options_.rank ||
          target.ports.size() != rails_of(plan_)) {
        throw Error(Fault::failed, fmt::format("the order names the invalid node {}", target.rank));
      }
    }
  }

  const AgentOptions& options_;
  control::Channel channel_;
  FabricPlan plan_;
  std::vector<std::unique_ptr<run::ServerThread>> servers_;  // by rail
  control::Readiness readiness_;
  std::mutex mutex_;
  std::map<std::string, TransferredBytes> transferred_;  // of all orders; by the worker
  std::optional<health::RunWatch> watch_;                // with requirements
  std::vector<Results> finished_;  // by the worker, to be sent by the thread that has the channel
  std::string failure_;            // of the worker
  AgentEnd end_;                   // as the coordinator said
  bool busy_ = false;              // of that thread alone: an order has not been answered yet
  std::jthread worker_;            // last: it uses the others
};

}  // namespace

AgentEnd run_agent(const AgentOptions& options, const control::BootstrapAddress& coordinator,
                   nanoseconds timeout) {
  const Deadline deadline = Deadline::after(timeout);
  auto [channel, authentication] = control::join_rank_0(coordinator,
                                                        {.run_id = coordinator.run_id,
                                                         .rank = options.rank,
                                                         .size = options.size,
                                                         .host = options.host},
                                                        deadline);
  FabricPlan plan = parse<PlanOrder>(channel.receive(FabricMessage::plan, deadline, "plan")).plan;
  AgentOptions own = options;
  own.base.authentication = authentication;  // the servers and clients of this run
  Agent agent(own, std::move(channel), std::move(plan));
  return agent.serve_until_goodbye(timeout);
}

}  // namespace rdmabench::inline v1::fabric
