// The fields of a SessionSpec as one list, which the writer and the reader of a request both walk.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "rdmabench/control/fields.h"
#include "run/protocol.h"

namespace rdmabench::run {

inline constexpr std::size_t kMaxName = 256;  // bytes of a name

/// Puts each field into a JSON object.
class FieldWriter {
 public:
  explicit FieldWriter(nlohmann::ordered_json& json) : json_(json) {}

  template <class T>
  void number(const char* key, const T& value, std::int64_t /*min*/, std::uint64_t /*max*/) {
    json_[key] = value;
  }
  void flag(const char* key, const bool& value) { json_[key] = value; }
  void text(const char* key, const std::string& value) { json_[key] = value; }

 private:
  nlohmann::ordered_json& json_;
};

/// Takes each field from a JSON object of the peer. Throws Error(failed) for one that is missing or
/// out of bounds.
class FieldReader {
 public:
  explicit FieldReader(const nlohmann::json& json) : json_(json) {}

  template <class T>
  void number(const char* key, T& value, std::int64_t min, std::uint64_t max) {
    if constexpr (std::is_signed_v<T>) {
      value = static_cast<T>(control::get_int(json_, key, min, static_cast<std::int64_t>(max)));
    } else {
      value = static_cast<T>(control::get_uint(json_, key, static_cast<std::uint64_t>(min), max));
    }
  }
  void flag(const char* key, bool& value) { value = control::get_bool(json_, key); }
  void text(const char* key, std::string& value) {
    value = control::get_string(json_, key, kMaxName);
  }

 private:
  const nlohmann::json& json_;
};

/// All that is a number, a flag or a text; `Spec` is SessionSpec, const for the writer.
template <class Fields, class Spec>
void walk(Fields& fields, Spec& spec) {
  fields.number("max_size_bytes", spec.max_size, 1, kMaxSize);
  fields.number("workers", spec.workers, 1, kMaxWorkers);
  fields.number("queue_pairs", spec.queue_pairs, 1, kMaxQueuePairs);
  fields.number("client_queue_pairs", spec.client_queue_pairs, 0, kMaxQueuePairs);
  fields.number("depth", spec.depth, 1, kMaxDepth);
  fields.number("receives", spec.receives, 0, 2 * kMaxDepth);
  fields.number("signal_every", spec.signal_every, 1, kMaxDepth);
  fields.number("post_list", spec.post_list, 1, kMaxPostList);
  fields.number("segments", spec.segments, 1, kMaxSegments);
  fields.number("outstanding_reads", spec.outstanding_reads, 0, 255);
  fields.number("inline_limit_bytes", spec.inline_limit, -1, 1 << 20);
  fields.number("mtu_bytes", spec.mtu, 0, 65536);
  fields.number("completion_vector", spec.completion_vector, -1, 65535);
  fields.flag("shared_receives", spec.shared_receives);
  fields.flag("separate_queues", spec.separate_queues);
  fields.flag("events", spec.events);
  fields.flag("connection_manager", spec.connection_manager);
  fields.flag("relaxed_ordering", spec.relaxed_ordering);
  fields.flag("on_demand", spec.on_demand);
  fields.text("memory", spec.peer_memory);
  fields.flag("gpu", spec.gpu);
  fields.text("gpu_mapping", spec.gpu_mapping);
  fields.flag("paced", spec.paced);
  fields.flag("validate", spec.validate);
  fields.flag("target_idle", spec.target_idle);
  fields.flag("watch", spec.watch);
  fields.number("clients", spec.clients, 1, kMaxClients);
  fields.number("working_set_bytes", spec.working_set, 0, kMaxWorkingSet);
  fields.number("stride_bytes", spec.stride, 0, kMaxWorkingSet);
  fields.number("misalignment_bytes", spec.misalignment, 0, 63);
  fields.number("service_level", spec.path.service_level, -1, 15);
  fields.number("traffic_class", spec.path.traffic_class, -1, 255);
  fields.number("flow_label", spec.path.flow_label, -1, (1 << 20) - 1);
  fields.number("hop_limit", spec.path.hop_limit, -1, 255);
  fields.number("partition_index", spec.path.partition_index, -1, 65535);
  fields.number("ack_timeout", spec.path.timeout, -1, 31);
  fields.number("retry_count", spec.path.retry_count, -1, 7);
  fields.number("rnr_retry_count", spec.path.rnr_retry_count, -1, 7);
  fields.number("rnr_timer", spec.path.rnr_timer, -1, 31);
  fields.text("provider", spec.provider);
  fields.flag("delivery", spec.delivery);
  fields.flag("shared_memory", spec.shared_memory);
}

}  // namespace rdmabench::run
