#include "rdmabench/transport/verbs/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "rdmabench/verbs/device.h"
#include "row.h"
#include "transport/own_options.h"
#include "transport/slots.h"
#include "transport/verbs/operation_needs.h"
#include "transport/verbs/plan_steps.h"
#include "verbs/dynamic.h"
#include "verbs/scalable.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

namespace ibv = rdmabench::verbs;

[[noreturn]] void refuse(std::string_view what, std::string_view remedy) {
  throw Error(Fault::usage, what, remedy);
}

/// Ranges and relations that hold on any device.
void check_request(const EndpointRequest& request) {
  if (request.max_size == 0 || request.depth == 0 || request.receives == 0 ||
      request.send_slots == 0 || request.receive_slots == 0 || request.options.queue_pairs == 0) {
    refuse("`max_size`, `depth`, `receives`, slots or `queue_pairs` is 0", "Each is at least 1.");
  }
  if (request.options.queue_pairs > kMaxQueuePairs) {
    refuse(fmt::format("invalid `queue_pairs` {}", request.options.queue_pairs),
           fmt::format("At most {}.", kMaxQueuePairs));
  }
  if (request.signal_every == 0 || request.signal_every > request.depth) {
    refuse(fmt::format("one completion in {} posts with a depth of {}", request.signal_every,
                       request.depth),
           "Take `signal_every` from 1 to `depth`.");
  }
  if (request.options.post_list == 0 || request.options.post_list > request.depth) {
    refuse(fmt::format("lists of {} posts with a depth of {}", request.options.post_list,
                       request.depth),
           "Take `post_list` from 1 to `depth`.");
  }
  if (request.options.segments == 0 || request.options.segments > request.max_size) {
    refuse(fmt::format("messages of at most {} bytes in {} segments", request.max_size,
                       request.options.segments),
           "Take from 1 to as many segments as a message has bytes.");
  }
  if (request.options.misalignment > 63) {
    refuse(fmt::format("invalid `misalignment` {}", request.options.misalignment), "Take 0 to 63.");
  }
  if (request.slot_stride != 0 &&
      (request.slot_stride % 64 != 0 || request.slot_stride < request.max_size)) {
    refuse(
        fmt::format("slots of {} bytes for messages of {}", request.slot_stride, request.max_size),
        "Take a multiple of 64 that holds the largest message.");
  }
}

void check_words(const EndpointRequest& request) {
  const bool alone =
      !request.operations.any([](OperationCode code) { return !acts_on_word(code); });
  if (alone ? request.max_size != kAtomicBytes : request.max_size < kAtomicBytes) {
    refuse(fmt::format("atomics of {} bytes", request.max_size),
           "Atomics have 8 bytes: take `sizes` 8.");
  }
  if (request.options.misalignment % kAtomicBytes != 0) {
    refuse(fmt::format("atomics on words that are off by {} bytes", request.options.misalignment),
           "Atomics need words aligned to 8 bytes.");
  }
  const bool by_processor = request.operations.any(
      [](OperationCode code) { return acts_on_word(code) && is_extended(code); });
  if (by_processor && memory::parse_request(request.memory).kind == memory::Kind::cuda) {
    refuse("atomic writes from a GPU's memory",
           "The processor copies the word into the request: take `memory` host.");
  }
  if (request.options.segments != 1) {
    refuse(fmt::format("atomics in {} segments", request.options.segments), "An atomic has one.");
  }
}

/// The first operation that is asked for and of which `lacks` is true; null where there is none.
template <class Lacks>
std::optional<OperationCode> find_lacking(const EndpointRequest& request, Lacks&& lacks) {
  std::optional<OperationCode> found;
  request.operations.any([&](OperationCode code) {
    if (lacks(code)) found = code;
    return found.has_value();
  });
  return found;
}

struct Device {
  explicit Device(ibv_context& context)
      : attributes(ibv::query_device(context)),
        name(ibv_get_device_name(context.device)),
        vectors(context.num_comp_vectors) {}

  [[noreturn]] void lacks(std::string_view what, std::string_view remedy) const {
    throw Error(Fault::unavailable, fmt::format("{} on {}", what, name), remedy);
  }

  /// 0: the device does not say.
  void check(std::string_view what, std::uint64_t wanted, std::string_view limit_name,
             std::int64_t limit, std::string_view remedy) const {
    if (limit <= 0 || wanted <= static_cast<std::uint64_t>(limit)) return;
    refuse(fmt::format("{} {} on {}: its {} is {}", wanted, what, name, limit_name, limit), remedy);
  }

  ibv_device_attr attributes;
  std::string name;
  int vectors;
};

void check_vector(const EndpointRequest& request, const Device& device) {
  if (request.options.verbs.completion_vector < 0 ||
      request.options.verbs.completion_vector < device.vectors)
    return;
  refuse(fmt::format("completion vector {} on {}", request.options.verbs.completion_vector,
                     device.name),
         fmt::format("It has {}, numbered from 0.", device.vectors));
}

/// What EFA devices say by efadv_query_device(3), and not by ibv_query_device(3).
void check_scalable(const EndpointRequest& request, const Plan& plan, const Device& device) {
  const auto lacking = find_lacking(request, [&](OperationCode code) {
    return !is_two_sided(code) &&
           !(is_from_target(code) ? plan.scalable.reads : plan.scalable.writes);
  });
  if (lacking) {
    device.lacks(
        fmt::format("{} over SRD", name(*lacking)),
        fmt::format(
            "The device or its driver has no RDMA {} (efadv_query_device): take `operation` send.",
            is_from_target(*lacking) ? "read" : "write"));
  }
  const bool one_sided =
      request.operations.any([](OperationCode code) { return !is_two_sided(code); });
  if (one_sided) {
    device.check("byte messages", request.max_size, "max_rdma_size", plan.scalable.max_rdma_bytes,
                 "Lower `sizes`.");
  }
  device.check("scatter/gather entries", plan.segments, one_sided ? "max_sge_rd" : "max_sge",
               one_sided ? device.attributes.max_sge_rd : device.attributes.max_sge, "Take fewer.");
  device.check("queue pairs", plan.local_queue_pairs, "max_qp", device.attributes.max_qp,
               "Lower `queue_pairs`.");
  check_vector(request, device);
}

/// What newer devices say of operations that older ones have not.
void check_extended(const EndpointRequest& request, ibv_context& context, const Device& device) {
  if (!request.operations.any(is_extended)) return;
  const std::uint64_t capabilities = ibv::query_capabilities(context);
  const auto lacking = find_lacking(
      request, [&](OperationCode code) { return (needs(code).device & ~capabilities) != 0; });
  if (!lacking) return;
  device.lacks(name(*lacking),
               "The device or its driver does not have it (device_cap_flags_ex of "
               "ibv_query_device_ex): take another `operation`.");
}

void check_features(const EndpointRequest& request, const Plan& plan, const Device& device) {
  const ibv_device_attr& has = device.attributes;
  if (plan.service == Service::xrc && (has.device_cap_flags & IBV_DEVICE_XRC) == 0) {
    device.lacks("XRC", "The device does not have it (IBV_DEVICE_XRC): take `service` rc.");
  }
  if (const auto atomic = find_lacking(request, is_atomic);
      atomic && has.atomic_cap == IBV_ATOMIC_NONE) {
    device.lacks(name(*atomic), "The device has no atomics (atomic_cap is NONE).");
  }
  if (plan.service == Service::srd) return check_scalable(request, plan, device);
  if (const auto read = find_lacking(request, is_answered);
      read && (plan.reads_in == 0 || plan.reads_out == 0)) {
    device.lacks(name(*read),
                 fmt::format("The device has no room for reads and atomics (max_qp_rd_atom {}, "
                             "max_qp_init_rd_atom {}).",
                             has.max_qp_rd_atom, has.max_qp_init_rd_atom));
  }
  device.check("scatter/gather entries", plan.segments, "max_sge", has.max_sge, "Take fewer.");
  device.check("queue pairs", plan.local_queue_pairs, "max_qp", has.max_qp, "Lower `queue_pairs`.");
  if (plan.shared_receives) {
    if (has.max_srq == 0) {
      device.lacks("a shared receive queue", "The device has none (max_srq is 0).");
    }
    device.check("receives in one shared queue", std::uint64_t{plan.queue_pairs} * plan.receives,
                 "max_srq_wr", has.max_srq_wr, "Lower `depth` or `queue_pairs`.");
  }
  check_vector(request, device);
}

/// Lowers `value` to `limit`, and says so.
void reduce(Plan& plan, std::uint32_t& value, std::string_view what, std::uint64_t limit,
            std::string_view limit_name, std::string_view device) {
  if (value <= limit) return;
  if (limit == 0) {
    refuse(fmt::format("{} queue pairs on {}: its {} leaves no {}", plan.queue_pairs, device,
                       limit_name, what),
           "Lower `queue_pairs`.");
  }
  plan.reduced.push_back(
      fmt::format("{} {} reduced to {}: {} of {}", what, value, limit, limit_name, device));
  value = static_cast<std::uint32_t>(limit);
}

std::uint64_t or_endless(int limit) {
  return limit > 0 ? static_cast<std::uint64_t>(limit) : std::numeric_limits<std::uint32_t>::max();
}

void fit_lists(Plan& plan) {
  plan.post_list = std::min(plan.post_list, plan.depth);
  // A list is posted whole: while it finds no room, a completion must be on its way.
  plan.signal_every = std::min(plan.signal_every, plan.depth - plan.post_list + 1);
  // EFA takes no request that does not ask for its completion.
  if (plan.service == Service::srd) plan.signal_every = 1;
}

void fit_queues(Plan& plan, const Device& device) {
  const std::uint64_t queue_pairs_each =
      (plan.queue_pairs + plan.local_queue_pairs - 1) / plan.local_queue_pairs;
  const std::uint64_t requests = or_endless(device.attributes.max_qp_wr) / queue_pairs_each;
  const std::uint64_t entries = or_endless(device.attributes.max_cqe) - 1;
  reduce(plan, plan.depth, "depth", requests, "max_qp_wr", device.name);
  if (!plan.shared_receives) {
    reduce(plan, plan.receives, "receives", requests, "max_qp_wr", device.name);
  }
  const std::uint64_t each = entries / plan.queue_pairs;
  // In one queue, receives leave at least half of it to the sends.
  const std::uint64_t wanted = std::uint64_t{plan.depth} + plan.receives;
  if (plan.separate_queues || wanted > each) {
    const std::uint64_t sends =
        plan.separate_queues
            ? each
            : std::max(each / 2, each - std::min<std::uint64_t>(each, plan.receives));
    reduce(plan, plan.depth, "depth", sends, "max_cqe", device.name);
    reduce(plan, plan.receives, "receives", plan.separate_queues ? each : each - plan.depth,
           "max_cqe", device.name);
  }
  fit_lists(plan);
}

/// `value` where it is given, after a look at its range; else `otherwise`.
template <class T>
void take(T& attribute, std::int32_t value, std::int32_t most, std::string_view what) {
  if (value == -1) return;
  if (value < 0 || value > most) {
    refuse(fmt::format("{} {}", what, value), fmt::format("Take 0 to {}.", most));
  }
  attribute = static_cast<T>(value);
}

ibv::PathAttributes path_attributes(const PathOptions& options, const LocalPath& local,
                                    const ibv_port_attr& port, const Device& device) {
  ibv::PathAttributes path;
  take(path.service_level, options.service_level, 15, "service level");
  take(path.traffic_class, options.traffic_class, 255, "traffic class");
  take(path.flow_label, options.flow_label, 0xfffff, "flow label");
  take(path.hop_limit, options.hop_limit, 255, "hop limit");
  take(path.timeout, options.timeout, 31, "acknowledgement timeout");
  take(path.retries, options.retry_count, 7, "retry count");
  take(path.rnr_retries, options.rnr_retry_count, 7, "receiver-not-ready retry count");
  take(path.rnr_timer, options.rnr_timer, 31, "receiver-not-ready timer");
  take(path.partition_index, options.partition_index, 0xffff, "partition key index");
  if (options.partition_index >= port.pkey_tbl_len) {
    refuse(fmt::format("partition key index {} on {}:{}", options.partition_index, device.name,
                       local.port),
           fmt::format("Its table has {} entries, numbered from 0.", port.pkey_tbl_len));
  }
  const bool marks =
      options.traffic_class >= 0 || options.flow_label >= 0 || options.hop_limit >= 0;
  if (marks && !local.global) {
    refuse("a traffic class, flow label or hop limit on a path without the global header",
           "Within an InfiniBand subnet packets carry none of them.");
  }
  return path;
}

/// DC and SRD are of one kind of device each.
void require_kind(Plan& plan, ibv_context& context, const Device& device) {
  if (plan.service == Service::dc && !ibv::has_dynamic(*context.device)) {
    device.lacks("DC", "Only mlx5 devices have it (mlx5dv): take `service` rc.");
  }
  if (plan.service != Service::srd) return;
  const auto limits = ibv::query_scalable(context);
  if (!limits) device.lacks("SRD", "Only EFA devices have it (efadv): take `service` rc.");
  plan.scalable = *limits;
}

std::uint8_t bound_reads(std::uint32_t wanted, int limit) {
  const int most = std::clamp(limit, 0, 255);
  return static_cast<std::uint8_t>(wanted == 0 ? most : std::min<std::uint32_t>(wanted, most));
}

}  // namespace

Service service_of(const EndpointRequest& request) {
  refuse_lack(kRow.name, foreign_option(request, kRow.name));
  const Service service =
      request.options.service == Service::automatic ? Service::rc : request.options.service;
  switch (service) {
    case Service::rdm:
    case Service::msg:
    case Service::am:
      refuse(fmt::format("`service` {} over verbs", name(service)),
             "Verbs have rc, uc, ud, xrc, dc and srd; rdm and msg are libfabric's, am is UCX's: "
             "take `backend` ofi or ucx.");
    case Service::dc:
      if (RDMABENCH_HAVE_MLX5 != 0) break;
      throw Error(Fault::unavailable, "`service` dc",
                  "This build has no dynamically connected queue pairs (mlx5dv): take rc or xrc.");
    case Service::srd:
      if (RDMABENCH_HAVE_EFA != 0) break;
      throw Error(Fault::unavailable, "`service` srd",
                  "This build has no SRD queue pairs (efadv): on EFA take `backend` ofi.");
    default:
      break;
  }
  const auto lacking =
      find_lacking(request, [&](OperationCode code) { return !has_operation(service, code); });
  if (lacking) {
    refuse(fmt::format("`operation` {} over {}", name(*lacking), name(service)),
           service == Service::ud    ? "UD has send and send-imm."
           : service == Service::uc  ? "UC has send, send-imm, write and write-imm."
           : service == Service::srd ? "SRD has sends, writes and reads."
                                     : "Only RC has it.");
  }
  if (service == Service::srd && request.options.verbs.shared_receives) {
    refuse("a shared receive queue with `service` srd",
           "EFA has none: leave out `shared_receives`, or take another transport.");
  }
  if (request.local_queue_pairs != 0 &&
      (service != Service::ud || request.local_queue_pairs > request.options.queue_pairs)) {
    refuse(fmt::format("{} queue pairs for {} peers over {}", request.local_queue_pairs,
                       request.options.queue_pairs, name(service)),
           "Only UD queue pairs reach several peers, and there are no more of them than peers.");
  }
  if (request.options.verbs.rdma_cm && service != Service::rc) {
    refuse(fmt::format("rdma_cm with `service` {}", name(service)),
           "`rdma_cm` connects RC queue pairs only: leave it out, or take `service` rc.");
  }
  return service;
}

Plan make_plan(const EndpointRequest& request, const LocalPath& local, ibv_context& context) {
  check_request(request);
  Plan plan;
  plan.service = service_of(request);
  if (request.operations.any(acts_on_word)) check_words(request);
  if (plan.datagrams() && request.max_size > local.mtu) {
    refuse(fmt::format("a message of {} bytes over ud", request.max_size),
           fmt::format("A datagram holds at most the path MTU, {} bytes here.", local.mtu));
  }
  const Device device(context);
  require_kind(plan, context, device);
  const ibv_port_attr port = ibv::query_port(context, local.port);
  // EFA's is that of a send.
  if (plan.service != Service::srd || request.operations.any(is_two_sided)) {
    device.check("byte messages", request.max_size, "max_msg_sz", port.max_msg_sz,
                 "Lower `sizes`.");
  }

  plan.queue_pairs = request.options.queue_pairs;
  plan.local_queue_pairs =
      request.local_queue_pairs != 0 ? request.local_queue_pairs : request.options.queue_pairs;
  if (request.options.verbs.region_per_queue_pair) plan.regions = plan.local_queue_pairs;
  plan.depth = request.depth;
  plan.receives = request.receives;
  plan.signal_every = request.signal_every;
  plan.post_list = request.options.post_list;
  plan.segments = request.options.segments;
  plan.stride = stride_of(request);
  plan.reads_out =
      bound_reads(request.options.outstanding_reads, device.attributes.max_qp_init_rd_atom);
  plan.reads_in = bound_reads(request.options.outstanding_reads, device.attributes.max_qp_rd_atom);
  plan.shared_receives = request.options.verbs.shared_receives || plan.has_receivers();
  plan.separate_queues = request.options.separate_queues;
  plan.extended = plan.service == Service::dc || plan.service == Service::srd ||
                  request.operations.any(is_extended);
  plan.path = path_attributes(request.options.verbs.path, local, port, device);
  check_extended(request, context, device);
  check_features(request, plan, device);
  check_on_demand(request, plan, context);
  fit_queues(plan, device);
  plan_inline(plan, request, context);
  if (plan.reads_out < request.options.outstanding_reads) {
    plan.reduced.push_back(
        fmt::format("outstanding reads {} reduced to {}: max_qp_init_rd_atom of "
                    "{}",
                    request.options.outstanding_reads, plan.reads_out, device.name));
  }
  return plan;
}

void fit_granted(Plan& plan, std::uint32_t depth, std::uint32_t receives, std::string_view device) {
  constexpr std::string_view kLimit = "what ibv_create_qp() takes";
  reduce(plan, plan.depth, "depth", depth, kLimit, device);
  if (!plan.shared_receives) reduce(plan, plan.receives, "receives", receives, kLimit, device);
  fit_lists(plan);
}

}  // namespace rdmabench::inline v1::transport::verbs
