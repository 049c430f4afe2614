// The fields of a SessionSpec as one list: a request is written and read by it, the options of a
// report written, and those of a user's configuration read.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/walk.h"
#include "run/protocol.h"

namespace rdmabench::run {

inline constexpr double kMaxRate = 1e12;  // messages per second
inline constexpr std::array<std::string_view, 4> kShapes{"latency", "bandwidth", "bidirectional",
                                                         "load"};

/// Puts each field into a report: those that differ from `absent`, the second of the two values.
class FactWriter {
 public:
  explicit FactWriter(report::Facts& facts) : facts_(facts) {}

  template <class T>
  void number(const char* key, std::int64_t /*min*/, std::uint64_t /*max*/, const T& value,
              const T& absent) {
    if (value != absent) facts_.push_back({key, static_cast<std::uint64_t>(value)});
  }
  void flag(const char* key, const bool& value, const bool& absent) {
    if (value != absent) facts_.push_back({key, value});
  }
  void flag(const char* key, const std::optional<bool>& value, const std::optional<bool>& absent) {
    if (value != absent && value) facts_.push_back({key, *value});
  }
  void text(const char* key, const std::string& value, const std::string& absent) {
    if (value != absent) facts_.push_back({key, value});
  }

 private:
  report::Facts& facts_;
};

/// The options that a report has only where they are not at their default.
template <class Fields, class... Options>
void walk_given(Fields& fields, Options&... options) {
  fields.number("incast_clients", 1, kMaxClients, options.clients...);
  fields.text("incast_job", options.job...);
  fields.number("post_list", 1, kMaxPostList, options.post_list...);
  fields.number("segments", 1, kMaxSegments, options.segments...);
  fields.number("receives", 0, 2 * kMaxDepth, options.receives...);
  fields.number("outstanding_reads", 0, 255, options.outstanding_reads...);
  fields.number("inline_limit", -1, 1 << 20, options.inline_limit...);
  fields.number("client_queue_pairs", 0, kMaxQueuePairs, options.client_queue_pairs...);
  fields.number("completion_vector", -1, 65535, options.completion_vector...);
  fields.number("mtu", 0, 65536, options.mtu...);
  fields.number("service_level", -1, 15, options.path.service_level...);
  fields.number("traffic_class", -1, 255, options.path.traffic_class...);
  fields.number("flow_label", -1, (1 << 20) - 1, options.path.flow_label...);
  fields.number("hop_limit", -1, 255, options.path.hop_limit...);
  fields.number("partition_index", -1, 65535, options.path.partition_index...);
  fields.number("qp_timeout", -1, 31, options.path.timeout...);
  fields.number("retry_count", -1, 7, options.path.retry_count...);
  fields.number("rnr_retry_count", -1, 7, options.path.rnr_retry_count...);
  fields.number("rnr_timer", -1, 31, options.path.rnr_timer...);
  fields.number("working_set_bytes", 0, kMaxWorkingSet, options.working_set...);
  fields.number("stride_bytes", 0, kMaxWorkingSet, options.stride...);
  fields.number("misalignment_bytes", 0, 63, options.misalignment...);
  fields.flag("shared_receives", options.shared_receives...);
  fields.flag("separate_queues", options.separate_queues...);
  fields.flag("rdma_cm", options.connection_manager...);
  fields.flag("relaxed_ordering", options.relaxed_ordering...);
  fields.flag("on_demand", options.on_demand...);
  fields.flag("region_per_queue_pair", options.region_per_queue_pair...);
  fields.flag("target_idle", options.target_idle...);
  fields.flag("watch", options.watch...);
  fields.flag("delivery", options.delivery...);
  fields.flag("shared_memory", options.shared_memory...);
  fields.text("provider", options.provider...);
  fields.text("pattern", options.pattern...);
}

/// The fields that a Config has too; `options` is a Config or a SessionSpec.
template <class Fields, class Options>
void walk_shared(Fields& fields, Options& options) {
  fields.name("test", kShapes, options.shape);
  fields.name("operation", transport::kOperationNames, options.operation);
  fields.name("service", transport::kServiceNames, options.service);
  fields.number("threads", 1, kMaxWorkers, options.workers);
  fields.number("queue_pairs", 1, kMaxQueuePairs, options.queue_pairs);
  fields.number("depth", 1, kMaxDepth, options.depth);
  fields.number("signal_every", 1, kMaxDepth, options.signal_every);
  fields.flag("events", options.events);
  fields.flag("validate", options.validate);
  walk_given(fields, options);
  fields.text("gpu_mapping", options.gpu_mapping);
}

/// All fields of a request but its offers and the timeout.
inline void walk(MessageFields& fields, SessionSpec& spec) {
  walk_shared(fields, spec);
  fields.number("max_size_bytes", 1, kMaxSize, spec.max_size);
  fields.text("memory", spec.peer_memory);
  fields.flag("gpu", spec.gpu);
  fields.flag("paced", spec.paced);
}

}  // namespace rdmabench::run
