#include "rdmabench/transport/verbs/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>

#include "memory/gpu_memory.h"
#include "messages.h"
#include "transport/session_request.h"
#include "transport/slots.h"
#include "transport/verbs/flush.h"
#include "transport/verbs/operation_needs.h"
#include "verbs/connection_manager.h"
#include "verbs/device_events.h"
#include "verbs/dynamic.h"
#include "verbs/queue_pair.h"
#include "verbs/scalable.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

namespace ibv = rdmabench::verbs;
using ibv::Access;

/// Of a queue pair that can be sent to; the upper bit would make it the kernel's own.
std::uint32_t random_q_key() {
  return std::random_device{}() & 0x7fffffff;
}

std::uint64_t random_dc_key() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace

Core::Core(const EndpointRequest& request, std::string_view choice)
    : request_(request),
      local_path_(read_local_path(choice)),
      context_(ibv::open_device(local_path_.device)),
      plan_(make_plan(request, local_path_, *context_)),
      events_(
          std::make_unique<ibv::DeviceEvents>(*context_, local_path_.port, plan_.shared_receives)),
      domain_(ibv::allocate_protection_domain(*context_)),
      sends_(make_slots(Access::local, Slots::sends)),
      receives_(make_slots(Access::local, Slots::receives)),
      window_(make_slots(window_access(), Slots::window)),
      more_regions_(make_more_regions()),
      dc_key_(random_dc_key()),
      queues_(*context_, *domain_, plan_, request, dc_key_, in_gpu_memory()),
      q_key_(random_q_key()),
      reads_out_(plan_.reads_out) {
  initialize_queue_pairs();
  if (request.options.inline_limit > 0 && queues_.inline_bytes < plan_.inline_bytes) {
    plan_.reduced.push_back(fmt::format("inline {} reduced to {}: what {} takes",
                                        plan_.inline_bytes, queues_.inline_bytes,
                                        local_path_.device));
  }
  const ibv_port_attr port = ibv::query_port(*context_, local_path_.port);
  driver_ = ibv::driver_name(*context_->device);
  gid_ = ibv::query_gid(*context_, local_path_.port, local_path_.gid_index);
  lid_ = port.lid;
  link_layer_ = ibv::link_layer(*context_->device, port);
  std::random_device random;
  for (std::uint32_t i = 0; i < plan_.local_queue_pairs; ++i) {
    first_packets_.push_back(random() & 0xffffff);
  }
  open_flush();
  if (request.options.verbs.rdma_cm) open_manager();
}

Core::~Core() = default;

Access Core::window_access() const {
  if (plan_.service == Service::srd && !plan_.scalable.writes) {
    return plan_.scalable.reads ? Access::read_window : Access::local;
  }
  return Access::window;
}

/// Where the NIC itself reads and writes a GPU's memory.
bool Core::in_gpu_memory() const noexcept {
  const auto direct = [](const RegisteredSlots& slots) {
    const memory::GpuMemory* const gpu = slots.buffer().gpu();
    return gpu != nullptr && !gpu->staged();
  };
  return direct(sends_) || direct(receives_) || direct(window_);
}

/// See register_buffer().
bool Core::relaxed_ordering() const {
  return request_.options.relaxed_ordering.value_or(in_gpu_memory());
}

void Core::initialize_queue_pairs() {
  const ibv::RemoteAccess access{.more = remote_access(request_.operations)};
  const std::uint16_t partition = plan_.path.partition_index;
  const auto initialize = [&](ibv_qp& queue_pair) {
    ibv::initialize(queue_pair, local_path_.port, partition, access, q_key_);
  };
  for (const ibv::QueuePair& pair : queues_.pairs) {
    if (plan_.service == Service::dc) {
      ibv::initialize_initiator(*pair, local_path_.port, partition);
    } else if (plan_.service == Service::srd) {
      ibv::initialize_scalable(*pair, local_path_.port, partition, q_key_);
    } else {
      initialize(*pair);
    }
  }
  for (const ibv::QueuePair& receiver : queues_.receivers) initialize(*receiver);
}

SlotLayout Core::layout(Slots which) const {
  const bool receives = which == Slots::receives;
  return {.slots = receives ? request_.receive_slots : request_.send_slots,
          .stride = plan_.stride,
          .misalignment = request_.options.misalignment,
          .header_room = receives && plan_.datagrams() ? kHeaderRoom : 0,
          .regions = plan_.regions,
          .buffer = receives ? request_.receive_buffer : first_buffer(request_)};
}

RegisteredSlots Core::make_slots(Access access, Slots which) const {
  const SlotLayout slots = layout(which);
  if (!slots.buffer.empty() && slots.buffer.size() < slots.header_room + request_.max_size) {
    throw Error(
        Fault::usage,
        fmt::format("memory of the caller of {} bytes for messages of {} behind {} of header",
                    slots.buffer.size(), request_.max_size, slots.header_room),
        "Bring more of it, or open the endpoint for smaller messages.");
  }
  return make_slots(access, which, slots);
}

/// One registration of each: the peer reaches it, and this side sends from it.
std::vector<RegisteredSlots> Core::make_more_regions() const {
  const auto buffers = more_buffers(request_);
  if (!buffers.empty() && plan_.regions > 1) {
    throw Error(Fault::usage,
                fmt::format("`region_per_queue_pair` with {} `buffers`", buffers.size() + 1),
                "Bring one.");
  }
  std::vector<RegisteredSlots> all;
  for (const std::span<std::byte> buffer : buffers) {
    SlotLayout slots = layout(Slots::window);
    slots.buffer = buffer;
    all.push_back(make_slots(window_access(), Slots::window, slots));
  }
  return all;
}

RegisteredSlots Core::make_slots(Access access, Slots which, const SlotLayout& slots) const {
  memory::Request where = memory::parse_request(request_.memory);
  where.gpu_mapping = request_.options.gpu_mapping;
  where.failed_routes = session_of(request_).failed_routes;
  where.numa = memory::parse_numa(request_.numa);
  where.device = local_path_.device;
  where.existing = slots.buffer.data();
  // In a file, each lies behind those before it.
  for (const Slots before : {Slots::sends, Slots::receives}) {
    if (before < which) where = memory::next(where, bytes_of(layout(before)));
  }
  return {*domain_,
          slots,
          where,
          {.access = access,
           .more_access = which == Slots::window ? remote_access(request_.operations) : 0,
           .relaxed_ordering = request_.options.relaxed_ordering,
           .on_demand = request_.options.on_demand},
          // EFA devices without RDMA read refuse memory that allows it.
          plan_.service == Service::srd ? GpuFlush::none : GpuFlush::by_read};
}

/// Returns "", or why there is none: then the rest works all the same.
std::string Core::make_flush() {
  if (plan_.service == Service::srd) return "EFA has no queue pair that reaches itself";
  try {
    flush_ = std::make_unique<FlushRead>(*context_, *domain_, connection_to(lid_, gid_));
  } catch (const Error& error) {  // iWARP has none, for one
    return fmt::format("a queue pair to itself, for {} to read by: {}", local_path_.device,
                       error.what());
  }
  return "";
}

void Core::open_flush() {
  const auto waits = [](const RegisteredSlots& slots) {
    memory::GpuMemory* const gpu = slots.buffer().gpu();
    return gpu != nullptr && gpu->needs_nic_read() && !gpu->staged();
  };
  std::optional<std::string> obstacle;
  std::vector<const RegisteredSlots*> all{&sends_, &receives_, &window_};
  for (const RegisteredSlots& slots : more_regions_) all.push_back(&slots);
  for (const RegisteredSlots* slots : all) {
    if (!waits(*slots)) continue;
    if (!obstacle) obstacle = make_flush();
    if (!obstacle->empty()) {
      slots->buffer().gpu()->no_flush(*obstacle);
      continue;
    }
    slots->buffer().gpu()->flush_by(
        [this, slots] { flush_->read(slots->address(), slots->remote_key()); },
        "the NIC reads a byte on a queue pair of its own, outside of what is timed, before what "
        "arrived is looked at");
  }
}

void Core::build(std::span<SendQueue> queue_pairs) {
  send_queues_ = queue_pairs;
  send_address_ = sends_.address();
  regions_.push_back({sends_.address(), sends_.bytes(), sends_.local_key()});
  for (const RegisteredSlots& slots : more_regions_) {
    regions_.push_back({slots.address(), slots.bytes(), slots.local_key()});
  }
  signal_every_ = plan_.signal_every;
  interval_ = signal_every_ == 1 ? std::uint64_t{1} << 62 : signal_every_;
  depth_ = plan_.depth;
  completion_queue_ = queues_.completions.sends();
  completion_queues_ = queues_.completions.all();
  for (std::uint32_t i = 0; i < queue_pairs.size(); ++i) {
    SendQueue& send_queue = queue_pairs[i];
    const std::uint32_t number = i % plan_.local_queue_pairs;
    const std::uint32_t key = sends_.local_key(number);
    send_queue.queue_pair = queues_.pairs[number].get();
    send_queue.tag = std::uint64_t{i} << 32;
    send_queue.signal_at = interval_ - 1;
    send_queue.list.resize(plan_.post_list);
    send_queue.list_bytes.resize(plan_.post_list, kUnknownLength);
    send_queue.pieces.resize((plan_.post_list + send_queue.prepared.size()) * plan_.segments,
                             {.addr = 0, .length = 0, .lkey = key});
    ibv_sge* pieces = send_queue.pieces.data();
    for (ibv_send_wr& request : send_queue.list) {
      request.sg_list = pieces;
      pieces += plan_.segments;
    }
    for (Prepared& prepared : send_queue.prepared) {
      prepared.piece.lkey = key;
      prepared.request.sg_list = plan_.segments == 1 ? &prepared.piece : pieces;
      pieces += plan_.segments;
    }
  }
  build_receives();
  if (plan_.service == Service::dc) open_targets();
}

void Core::build_receives() {
  header_bytes_ = plan_.datagrams() ? kHeaderBytes : 0;
  receive_piece_.lkey = receives_.local_key();
  receive_piece_.length = static_cast<std::uint32_t>(request_.max_size) + header_bytes_;
  receive_request_.sg_list = &receive_piece_;
  receive_request_.num_sge = 1;
  for (std::size_t i = 0; i < returned_requests_.size(); ++i) {
    returned_pieces_[i] = receive_piece_;
    returned_requests_[i].sg_list = &returned_pieces_[i];
    returned_requests_[i].num_sge = 1;
    returned_requests_[i].next =
        i + 1 < returned_requests_.size() ? &returned_requests_[i + 1] : nullptr;
  }
  for (std::uint32_t i = 0; has_keyed_queues() && i < plan_.local_queue_pairs; ++i) {
    keyed_queues_.push_back(
        {.queue_pair = queues_.pairs[i].get(), .local_key = receives_.local_key(i)});
  }
  const Region region = receives_.region();
  for (std::uint32_t slot = 0; slot < plan_.queue_pairs * plan_.receives; ++slot) {
    const std::uint64_t address =
        receives_.address() + slot % region.slots * region.stride - header_bytes_;
    const std::uint32_t number = slot / plan_.receives % plan_.local_queue_pairs;
    void* queue = queues_.shared_receives.get();
    if (queue == nullptr) queue = queues_.pairs[number].get();
    if (!keyed_queues_.empty()) queue = &keyed_queues_[number];
    receive_slots_.push_back({.address = address, .queue = queue});
  }
}

std::string Core::address() const {
  Address address{.service = plan_.service,
                  .queue_pairs = plan_.queue_pairs,
                  .queues = {},
                  .q_key = q_key_,
                  .dc_key = plan_.service == Service::dc ? dc_key_ : 0,
                  .lid = lid_,
                  .gid = gid_,
                  .mtu = local_path_.mtu,
                  .reads_in = plan_.reads_in,
                  .window = window_.address(),
                  .window_bytes = window_.bytes(),
                  .stride = window_.region().stride,
                  .listener = listener_,
                  .session = session_};
  for (const RegisteredSlots& slots : more_regions_) {
    address.more_regions.push_back({slots.address(), slots.bytes(), slots.remote_key()});
  }
  if (manager_) address.manager = manager_address();
  for (std::uint32_t i = 0; i < plan_.local_queue_pairs; ++i) {
    address.queues.push_back({.qpn = queues_.pairs[i]->qp_num,
                              .psn = first_packets_[i],
                              .window_key = window_.remote_key(i)});
    if (plan_.has_receivers()) address.queues[i].receiver = queues_.receivers[i]->qp_num;
  }
  if (plan_.service == Service::xrc) {
    address.shared_receives = ibv::xrc_receive_queue_number(*queues_.shared_receives);
  }
  return write_address(address);
}

bool Core::permits(OperationCode code, std::uint64_t bytes) noexcept {
  if (transport::permits(request_.operations, request_.max_size, code, bytes)) return true;
  if (!failed_) {
    failed_ = true;
    refused_operation_ = name(code);
    refused_bytes_ = bytes;
  }
  return false;
}

void Core::fill(ibv_send_wr& request, const SendQueue& send_queue, OperationCode code,
                std::uint64_t bytes) const noexcept {
  const bool takes_inline = !is_from_target(code) && !is_extended(code) &&
                            (plan_.service != Service::srd || is_two_sided(code));
  request.opcode = needs(code).opcode;
  request.send_flags =
      takes_inline && bytes != 0 && bytes <= queues_.inline_bytes ? IBV_SEND_INLINE : 0;
  // A message of 0 bytes has no entry: a length of 0 means 2^31 bytes (ibv_post_send(3)).
  const auto segments = static_cast<std::uint32_t>(std::min<std::uint64_t>(plan_.segments, bytes));
  request.num_sge = static_cast<int>(segments);
  for (std::uint32_t k = 0; k < segments; ++k) {
    const std::uint64_t each = bytes / segments;
    request.sg_list[k].length =
        static_cast<std::uint32_t>(k + 1 == segments ? bytes - k * each : each);
  }
  request.qp_type.xrc.remote_srqn = remote_shared_receives_;
  if (plan_.datagrams()) {
    const PostDestination& destination = destinations_[send_queue.tag >> 32];
    request.wr.ud.ah = destination.handle;
    request.wr.ud.remote_qpn = destination.number;
    request.wr.ud.remote_qkey = destination.q_key;
  } else if (is_atomic(code)) {
    request.wr.atomic.rkey = window_keys_[send_queue.tag >> 32];
    request.wr.atomic.compare_add = 1;
  } else {
    request.wr.rdma.rkey = window_keys_[send_queue.tag >> 32];
  }
}

bool Core::prepare(SendQueue& send_queue, OperationCode code, std::uint64_t bytes) noexcept {
  if (!permits(code, bytes)) return false;
  Prepared& prepared = send_queue.prepared[static_cast<std::size_t>(code)];
  fill(prepared.request, send_queue, code, bytes);
  prepared.signalled = prepared.request;
  prepared.signalled.send_flags |= IBV_SEND_SIGNALED;
  if (signal_every_ == 1) prepared.request.send_flags |= IBV_SEND_SIGNALED;
  prepared.bytes = bytes;
  return true;
}

bool Core::prepare_in_list(SendQueue& send_queue, std::uint32_t index,
                           std::uint64_t bytes) noexcept {
  if (!permits(send_queue.list_operation, bytes)) return false;
  fill(send_queue.list[index], send_queue, send_queue.list_operation, bytes);
  send_queue.list_bytes[index] = bytes;
  return true;
}

bool Core::link(SendQueue& send_queue, OperationCode code, std::uint32_t count) noexcept {
  if (count == 0) return false;  // nothing is to be posted
  if (count > send_queue.list.size()) {
    refuse("post_list() of more messages than the endpoint was opened for", EINVAL);
    return false;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    send_queue.list[i].next = i + 1 < count ? &send_queue.list[i + 1] : nullptr;
  }
  send_queue.chained = count;
  if (send_queue.list_operation != code) {
    send_queue.list_operation = code;
    std::fill(send_queue.list_bytes.begin(), send_queue.list_bytes.end(), kUnknownLength);
  }
  return true;
}

bool Core::accepts(std::span<const RegionMessage> messages, OperationCode code) noexcept {
  const auto holds = [](const std::vector<RegionEntry>& regions, RegionId region, std::uint64_t at,
                        std::uint64_t bytes) {
    return region < regions.size() && lies_within(at, bytes, regions[region].bytes);
  };
  for (const RegionMessage& message : messages) {
    if (!permits(code, message.bytes)) return false;
    if (holds(regions_, message.local, message.local_at, message.bytes) &&
        (is_two_sided(code) ||
         holds(peer_regions_, message.remote, message.remote_at, message.bytes))) {
      continue;
    }
    refuse("post() of a message outside of this side's regions or the peer's", EINVAL);
    return false;
  }
  return true;
}

}  // namespace rdmabench::inline v1::transport::verbs
