// Which options go together.
#include <fmt/format.h>

#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/features.h"
#include "rdmabench/memory/buffer.h"
#include "run/protocol.h"

namespace rdmabench::inline v1::run {
namespace {

using transport::Service;
using workload::Shape;

[[noreturn]] void refuse(const std::string& what, const std::string& remedy) {
  throw Error(Fault::usage, "not possible: " + what, remedy);
}

bool is_built(Service service) {
  if (service == Service::dc) return RDMABENCH_HAVE_MLX5 != 0;
  return service != Service::srd || RDMABENCH_HAVE_EFA != 0;
}

bool verbs_only(Service service) {
  return service != Service::automatic && service != Service::rdm && service != Service::msg &&
         service != Service::am;
}

void check_operation(const SessionSpec& spec) {
  if (!is_built(spec.endpoint.service)) {
    throw Error(Fault::unavailable,
                fmt::format("`service` {}", transport::name(spec.endpoint.service)),
                "It needs libmlx5 or libefa, which this build does not have: take rc, or "
                "libfabric's rdm on EFA.");
  }
  const std::string_view operation = transport::name(spec.traffic.operation);
  const std::string_view service = transport::name(spec.endpoint.service);
  if (!transport::has_operation(spec.endpoint.service, spec.traffic.operation)) {
    refuse(
        fmt::format("`operation` {} over {}", operation, service),
        spec.endpoint.service == Service::ud
            ? "UD carries sends only: take `operation` send or send-imm, or `service` rc."
        : spec.endpoint.service == Service::uc
            ? "UC has no reads or atomics: take `operation` send, send-imm, write or write-imm, or "
              "`service` rc."
        : spec.endpoint.service == Service::am
            ? "Active messages are sends: take `operation` send or send-imm, or leave out `service`."
        : spec.endpoint.service == Service::srd
            ? "SRD has sends, writes and reads: take one of them, or `service` rc."
            : "Only RC queue pairs of verbs have it: take `service` rc, or leave it out.");
  }
  if (transport::is_extended(spec.traffic.operation) &&
      ((spec.traffic.shape != Shape::latency && spec.traffic.shape != Shape::bandwidth) ||
       spec.traffic.target_idle)) {
    refuse(fmt::format("`operation` {} in this test", operation),
           "It is measured by 'lat' and 'bw' in one direction.");
  }
  const transport::OperationTraits& traits = transport::traits(spec.traffic.operation);
  if ((traits.conditional || traits.flushes) && spec.endpoint.post_list > 1) {
    refuse(fmt::format("`operation` {} with `post_list` {}", operation, spec.endpoint.post_list),
           traits.flushes
               ? "Each flush follows its own write: leave out `post_list`."
               : "Each compare-swap expects what the one before stored: leave out `post_list`.");
  }
  if (const std::uint64_t bytes = traits.bytes; bytes != 0) {
    if (spec.max_size != bytes) {
      refuse(fmt::format("`operation` {} of {} bytes", operation, spec.max_size),
             fmt::format("It acts on {} bytes: leave out `sizes`.", bytes));
    }
    if (spec.endpoint.misalignment % bytes != 0) {
      refuse(fmt::format("`operation` {} with `misalignment_bytes` {}", operation,
                         spec.endpoint.misalignment),
             fmt::format("It needs aligned words: take a multiple of {}.", bytes));
    }
  }
}

void check_shape(const SessionSpec& spec) {
  if (spec.traffic.shape == Shape::latency) {
    if (spec.endpoint.events && !transport::notifies(spec.traffic.operation) &&
        !transport::is_timed_by_completion(spec.traffic.operation)) {
      refuse(fmt::format("latency of `operation` {} with `events`",
                         transport::name(spec.traffic.operation)),
             "A write leaves no completion at its target, so there is no event to wait for: take "
             "`operation` write-imm, or leave out `events`.");
    }
    if (spec.endpoint.post_list > 1 && spec.traffic.pattern.empty()) {
      refuse(fmt::format("`post_list` {} in a latency test", spec.endpoint.post_list),
             "One message is under way at a time: leave it out, or measure bw.");
    }
  }
  if (spec.paced && spec.traffic.shape != Shape::bandwidth && spec.traffic.shape != Shape::load) {
    refuse("a rate limit in this test", "Take 'bw' in one direction, or 'load'.");
  }
  if (spec.traffic.shape == Shape::load && !transport::is_reliable(spec.endpoint.service)) {
    refuse(fmt::format("load over {}", transport::name(spec.endpoint.service)),
           "A lost message has no latency: take `service` rc, rdm or msg.");
  }
  if (spec.traffic.target_idle) {
    if (transport::notifies(spec.traffic.operation)) {
      refuse(
          fmt::format("`target_idle` with `operation` {}", transport::name(spec.traffic.operation)),
          "That operation is not one-sided: take `operation` write, read or an atomic one.");
    }
    if (spec.traffic.shape != Shape::latency) {
      refuse("`target_idle` in this test", "Take 'lat'.");
    }
  }
}

void check_queues(const SessionSpec& spec) {
  const std::uint32_t depth = depth_of(spec);
  if (const std::uint32_t every = signal_every_of(spec); every > depth) {
    refuse(fmt::format("`signal_every` {}", every),
           fmt::format("It may be `depth` ({}) at most, or the queue would stay full.", depth));
  }
  if (spec.endpoint.post_list > depth) {
    refuse(fmt::format("`post_list` {}", spec.endpoint.post_list),
           fmt::format("It may be `depth` ({}) at most.", depth));
  }
  if (spec.traffic.threads * spec.endpoint.queue_pairs > kMaxAllQueuePairs) {
    refuse(fmt::format("{} queue pairs in each of {} threads", spec.endpoint.queue_pairs,
                       spec.traffic.threads),
           fmt::format("All together may be {}.", kMaxAllQueuePairs));
  }
  if (spec.endpoint.segments > spec.max_size) {
    refuse(fmt::format("`segments` {} for messages of {} bytes", spec.endpoint.segments,
                       spec.max_size),
           "Each segment needs a byte.");
  }
  if (spec.traffic.client_queue_pairs != 0 && spec.endpoint.service != Service::ud) {
    refuse("`peers` without `service` ud", "Only a UD queue pair reaches several others.");
  }
  if (spec.endpoint.verbs.rdma_cm && spec.endpoint.service != Service::automatic &&
      spec.endpoint.service != Service::rc) {
    refuse(fmt::format("rdma_cm with `service` {}", transport::name(spec.endpoint.service)),
           "Only RC is connected by rdma_cm here: leave out one of them.");
  }
  if (spec.endpoint.verbs.shared_receives && spec.endpoint.service == Service::uc) {
    refuse(
        "`shared_receives` with `service` uc",
        "UC queue pairs take no shared receive queue: use rc or ud, or leave out `shared_receives`.");
  }
  if (spec.endpoint.ofi.delivery &&
      (spec.endpoint.service == Service::uc || spec.endpoint.service == Service::ud ||
       spec.endpoint.service == Service::srd)) {
    refuse(
        fmt::format("`delivery` with `service` {}", transport::name(spec.endpoint.service)),
        "Its completions do not say that the message is in the peer's memory: take `service` rc, "
        "or leave out `delivery`.");
  }
  if (spec.endpoint.verbs.shared_receives && spec.endpoint.service == Service::srd) {
    refuse(
        "`shared_receives` with `service` srd",
        "EFA has no shared receive queue: leave out `shared_receives`, or take another transport.");
  }
}

void check_memory(const SessionSpec& spec) {
  if (spec.traffic.stride != 0 &&
      spec.traffic.stride < spec.max_size + spec.endpoint.misalignment) {
    refuse(fmt::format("`stride_bytes` {} for messages of {} bytes", spec.traffic.stride,
                       spec.max_size),
           "Messages must not overlap.");
  }
  if (spec.traffic.stride % 64 != 0) {
    refuse(fmt::format("`stride_bytes` {}", spec.traffic.stride),
           "It is a multiple of 64; `misalignment_bytes` moves messages off their cache line.");
  }
  if (spec.traffic.working_set != 0 && spec.traffic.working_set < spec.max_size) {
    refuse(fmt::format("`working_set_bytes` {} for messages of {} bytes", spec.traffic.working_set,
                       spec.max_size),
           "It must hold a message at least.");
  }
}

/// A pattern brings its own loops for host memory.
void check_pattern(const SessionSpec& spec) {
  if (spec.traffic.pattern.empty()) return;
  const std::string name = ascii_only(spec.traffic.pattern, 100);
  if (spec.traffic.shape != Shape::latency) {
    refuse(fmt::format("the pattern '{}' in a test other than latency", name),
           "Leave `shape` at latency: every message of a pattern is timed.");
  }
  if (spec.traffic.target_idle) {
    refuse(fmt::format("the pattern '{}' with `target_idle`", name),
           "The pattern's own target runs: leave out one of them.");
  }
  if (spec.gpu) {
    refuse(fmt::format("the pattern '{}' in GPU memory", name),
           "Patterns run in host memory only.");
  }
}

/// Clients may not name server files: the server would open them.
void check_peer_memory(const SessionSpec& spec) {
  // Errors quote what a peer wrote; an unprintable text is not a known word either.
  const std::string asked = ascii_only(spec.peer_memory);
  const memory::Kind kind = memory::parse_request(asked).kind;
  if (kind == memory::Kind::file || kind == memory::Kind::dmabuf) {
    refuse(fmt::format("`peer_memory` {}", asked),
           "A client may ask a server for host, huge or cuda:...");
  }
  if (kind == memory::Kind::cuda && !spec.gpu) {
    refuse(fmt::format("the server's memory {} in a session without a GPU", asked),
           "Both sides must run the same release of rdmabench.");
  }
}

/// Refuses what needs the processor to read or write messages, which it cannot do in GPU memory.
void check_gpu(const SessionSpec& spec) {
  if (!spec.gpu) {
    if (spec.endpoint.gpu_mapping == memory::GpuMapping::automatic) return;
    refuse(fmt::format("`gpu_mapping` {} without GPU memory", name(spec.endpoint.gpu_mapping)),
           "It goes with `memory` cuda:N or `peer_memory` cuda:N.");
  }
  if (spec.traffic.shape == Shape::latency && transport::is_plain_write(spec.traffic.operation)) {
    refuse(
        fmt::format("latency of `operation` {} in GPU memory", name(spec.traffic.operation)),
        "Its arrival is seen by polling the last byte, which is the GPU's: take `operation` write-imm, "
        "send or read.");
  }
  if (transport::is_extended(spec.traffic.operation) &&
      transport::acts_on_word(spec.traffic.operation)) {
    refuse(fmt::format("`operation` {} with GPU memory", name(spec.traffic.operation)),
           "The processor copies the word into the request: take another `operation`.");
  }
  if (spec.traffic.target_idle) {
    refuse("`target_idle` with GPU memory",
           "It reads back every message by the processor: leave it out.");
  }
  if (spec.endpoint.inline_limit > 0) {
    refuse(fmt::format("`inline_limit` {} with GPU memory", spec.endpoint.inline_limit),
           "The processor copies inline bytes, and it cannot read a GPU's: leave it out.");
  }
  if (spec.endpoint.on_demand) {
    refuse("`on_demand` with GPU memory", "The GPU's driver holds its pages: leave it out.");
  }
  if (spec.endpoint.verbs.region_per_queue_pair) {
    refuse("`region_per_queue_pair` with GPU memory",
           "How a GPU's memory is mapped is chosen once: leave it out.");
  }
}

}  // namespace

void check(const SessionSpec& spec) {
  check_operation(spec);
  check_shape(spec);
  check_queues(spec);
  check_memory(spec);
  check_peer_memory(spec);
  check_gpu(spec);
  check_pattern(spec);
  if (transport::is_extended(spec.traffic.operation) && !spec.endpoint.ofi.provider.empty()) {
    refuse(fmt::format("`operation` {} with `provider` {}", transport::name(spec.traffic.operation),
                       spec.endpoint.ofi.provider),
           "Only verbs have the operation, and a provider is libfabric's.");
  }
  if (verbs_only(spec.endpoint.service) && !spec.endpoint.ofi.provider.empty()) {
    refuse(fmt::format("`service` {} with `provider` {}", transport::name(spec.endpoint.service),
                       spec.endpoint.ofi.provider),
           "A provider is libfabric's, whose transports are rdm and msg.");
  }
}

}  // namespace rdmabench::inline v1::run
