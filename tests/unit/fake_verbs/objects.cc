// The calls of libibverbs that make, query, change and destroy objects.
#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "state.h"

#undef ibv_query_port
#undef ibv_get_device_list

namespace rdmabench::inline v1::fake_verbs {
namespace {

ibv_gid parse(const std::string& address) {
  ibv_gid gid{};
  if (inet_pton(AF_INET6, address.c_str(), gid.raw) == 1) return gid;
  gid.raw[10] = gid.raw[11] = 0xff;
  inet_pton(AF_INET, address.c_str(), gid.raw + 12);
  return gid;
}

const Port* find_port(ibv_context* context, std::uint32_t number) {
  const Device& device = fake(*context).device->config;
  return number >= 1 && number <= device.ports.size() ? &device.ports[number - 1] : nullptr;
}

const Gid* find_gid(const Port& port, std::uint32_t index) {
  const auto found = std::find_if(port.gids.begin(), port.gids.end(),
                                  [index](const Gid& gid) { return gid.index == index; });
  return found == port.gids.end() ? nullptr : &*found;
}

int query_port(ibv_context* context, std::uint8_t number, ibv_port_attr* attributes,
               std::size_t size) {
  const std::lock_guard lock(state().mutex);
  if (const int code = count(Call::query_port); code != 0) return code;
  const Port* port = find_port(context, number);
  if (port == nullptr) return EINVAL;
  std::memset(attributes, 0, size);
  attributes->state = port->state;
  attributes->max_mtu = IBV_MTU_4096;
  attributes->active_mtu = port->active_mtu;
  attributes->gid_tbl_len = 256;
  attributes->max_msg_sz = port->max_msg_sz;
  attributes->lid = port->lid;
  attributes->active_width = port->width;
  attributes->active_speed = port->speed;
  attributes->link_layer = port->link_layer;
  attributes->flags = port->flags;
  attributes->pkey_tbl_len = port->partition_keys;
  return 0;
}

}  // namespace

void violate(const char* what) {
  state().violations.emplace_back(what);
}

bool may_go(int children, const char* what) {
  if (children != 0) violate(what);
  return children == 0;
}

bool is_valid(ibv_context* context, const ibv_ah_attr& vector) {
  const Port* port = find_port(context, vector.port_num);
  if (port == nullptr) return false;
  const bool ethernet = port->link_layer == IBV_LINK_LAYER_ETHERNET;
  if (vector.is_global == 0) return !ethernet && vector.dlid != 0;
  return find_gid(*port, vector.grh.sgid_index) != nullptr;
}

namespace {

/// Of what a send queue counts: see Device::request_header.
std::uint64_t send_entries(const Device& device, const ibv_qp_cap& cap) {
  if (device.request_header == 0) return cap.max_send_wr;
  const std::uint64_t segments = std::uint64_t{16} * cap.max_send_sge;
  const std::uint64_t inlined =
      cap.max_inline_data == 0 ? 0 : (cap.max_inline_data + 4 + 15) / 16 * 16;
  const std::uint64_t bytes = device.request_header + std::max(segments, inlined);
  return std::bit_ceil(cap.max_send_wr * ((bytes + 63) / 64));
}

}  // namespace

std::uint32_t completion_room(const Device& device) {
  if (!device.mlx5) return 0;
  return device.completion_bytes == 128 ? 64 : 32;
}

FakeQueuePair* make_queue_pair(ibv_context& context, const ibv_qp_init_attr_ex& attributes) {
  State& now = state();
  if (refused(Call::create_qp)) return nullptr;
  const Device& device = fake(context).device->config;
  const ibv_qp_cap& cap = attributes.cap;
  if (cap.max_inline_data > device.max_inline ||
      cap.max_send_sge > static_cast<std::uint32_t>(device.max_sge) ||
      send_entries(device, cap) > static_cast<std::uint64_t>(device.max_qp_wr) ||
      cap.max_recv_wr > static_cast<std::uint32_t>(device.max_qp_wr)) {
    errno = EINVAL;
    return nullptr;
  }
  auto* queue_pair = new FakeQueuePair{};
  queue_pair->context = &context;
  queue_pair->pd = attributes.pd;
  queue_pair->send_cq = attributes.send_cq;
  queue_pair->recv_cq = attributes.recv_cq;
  queue_pair->srq = attributes.srq;
  queue_pair->shared = static_cast<FakeSharedQueue*>(attributes.srq);
  queue_pair->xrc_domain = static_cast<FakeXrcDomain*>(attributes.xrcd);
  queue_pair->state = IBV_QPS_RESET;
  queue_pair->qp_type = attributes.qp_type;
  queue_pair->qp_num = now.next_number++;
  queue_pair->cap = cap;
  queue_pair->signal_all = attributes.sq_sig_all != 0;
  if (attributes.qp_type == IBV_QPT_RC || attributes.qp_type == IBV_QPT_UC) {
    queue_pair->in_completion = completion_room(device);
  }
  now.queue_pairs[queue_pair->qp_num] = queue_pair;
  for (ibv_cq* queue : {attributes.send_cq, attributes.recv_cq}) {
    if (queue != nullptr) ++static_cast<FakeCompletionQueue*>(queue)->users;
  }
  if (queue_pair->shared != nullptr) ++queue_pair->shared->users;
  if (queue_pair->xrc_domain != nullptr) ++queue_pair->xrc_domain->children;
  if (attributes.pd != nullptr) ++static_cast<FakeDomain*>(attributes.pd)->children;
  ++now.live;
  return queue_pair;
}

}  // namespace rdmabench::inline v1::fake_verbs

using namespace rdmabench::fake_verbs;

extern "C" {

ibv_device** ibv_get_device_list(int* number) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (refused(Call::get_device_list)) return nullptr;
  auto** list = new ibv_device*[now.devices.size() + 1];
  auto& owned = now.lists[list];
  for (std::size_t i = 0; i < now.devices.size(); ++i) {
    auto device = std::make_shared<FakeDevice>();
    device->config = now.devices[i];
    device->transport_type = device->config.transport;
    device->config.name.copy(device->name, sizeof device->name - 1);
    std::strcpy(device->dev_name, "uverbs-fake");
    device->config.sysfs.copy(device->ibdev_path, sizeof device->ibdev_path - 1);
    list[i] = device.get();
    owned.push_back(std::move(device));
  }
  list[now.devices.size()] = nullptr;
  if (number != nullptr) *number = static_cast<int>(now.devices.size());
  ++now.live;
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.lists.erase(list);
  delete[] list;
  --now.live;
}

const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

__be64 ibv_get_device_guid(ibv_device* device) {
  return htobe64(static_cast<FakeDevice*>(device)->config.guid);
}

ibv_context* ibv_open_device(ibv_device* device) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (refused(Call::open_device)) return nullptr;
  auto* opened = new FakeContext{};
  for (const auto& [list, owned] : now.lists) {
    for (const auto& candidate : owned) {
      if (candidate.get() == device) opened->device = candidate;
    }
  }
  opened->sz = sizeof(verbs_context);
  opened->query_port = query_port;
  opened->query_device_ex = query_device_ex;
  opened->context.device = device;
  opened->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  opened->context.ops.post_send = post_send;
  opened->context.ops.post_recv = post_receive;
  opened->context.ops.post_srq_recv = post_shared_receive;
  opened->context.ops.poll_cq = poll;
  opened->context.ops.req_notify_cq = request_notify;
  opened->context.num_comp_vectors = opened->device->config.completion_vectors;
  offer_extended_calls(*opened);
  int ends[2];
  if (pipe(ends) != 0) violate("no pipe for events");
  opened->context.async_fd = ends[0];
  opened->report_end = ends[1];
  now.contexts.insert(opened);
  ++now.live;
  return &opened->context;
}

int ibv_close_device(ibv_context* context) {
  const std::lock_guard lock(state().mutex);
  if (!may_go(fake(*context).children, "device closed before its objects")) return EBUSY;
  close(context->async_fd);
  close(fake(*context).report_end);
  state().contexts.erase(&fake(*context));
  delete &fake(*context);
  --state().live;
  return 0;
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  const std::lock_guard lock(state().mutex);
  if (const int code = count(Call::query_device); code != 0) return code;
  const Device& device = fake(*context).device->config;
  std::memset(attributes, 0, sizeof *attributes);
  std::strcpy(attributes->fw_ver, "1.2.3");
  attributes->max_mr_size = device.max_mr_size;
  attributes->max_qp_wr = device.max_qp_wr;
  attributes->max_cqe = device.max_cqe;
  attributes->max_qp_rd_atom = device.max_reads;
  attributes->max_qp_init_rd_atom = device.max_reads;
  attributes->max_qp = device.max_qp;
  attributes->max_sge = device.max_sge;
  attributes->max_sge_rd = device.max_sge_rd;
  attributes->max_srq = device.max_srq;
  attributes->max_srq_wr = device.max_srq_wr;
  attributes->atomic_cap = device.atomics;
  attributes->device_cap_flags = device.xrc ? IBV_DEVICE_XRC : 0;
  attributes->phys_port_cnt = static_cast<std::uint8_t>(device.ports.size());
  return 0;
}

// Called only by a library older than its header; ours always has verbs_context::query_port.
int ibv_query_port(ibv_context* /*context*/, std::uint8_t /*port*/,
                   _compat_ibv_port_attr* /*attributes*/) {
  return ENOSYS;
}

int ibv_query_port_speed(ibv_context* context, std::uint32_t number, std::uint64_t* speed) {
  const std::lock_guard lock(state().mutex);
  const Port* port = find_port(context, number);
  if (port == nullptr || port->effective == 0) return EOPNOTSUPP;
  *speed = port->effective;
  return 0;
}

int ibv_query_gid(ibv_context* context, std::uint8_t number, int index, ibv_gid* gid) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::query_gid)) return -1;
  const Port* port = find_port(context, number);
  const Gid* found = port == nullptr ? nullptr : find_gid(*port, static_cast<std::uint32_t>(index));
  if (found == nullptr) {
    errno = EINVAL;
    return -1;
  }
  *gid = parse(found->address);
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t limit,
                             uint32_t /*flags*/, size_t /*entry_size*/) {
  const std::lock_guard lock(state().mutex);
  if (const int code = count(Call::query_gid_table); code != 0) return -code;
  std::size_t filled = 0;
  const Device& device = fake(*context).device->config;
  for (std::uint32_t number = 1; number <= device.ports.size(); ++number) {
    for (const Gid& gid : device.ports[number - 1].gids) {
      if (filled == limit) return -EINVAL;
      entries[filled++] = {.gid = parse(gid.address),
                           .gid_index = gid.index,
                           .port_num = number,
                           .gid_type = static_cast<std::uint32_t>(gid.type),
                           .ndev_ifindex = gid.interface_index};
    }
  }
  return static_cast<ssize_t>(filled);
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::alloc_pd)) return nullptr;
  auto* domain = new FakeDomain{};
  domain->context = context;
  ++fake(*context).children;
  ++state().live;
  return domain;
}

int ibv_dealloc_pd(ibv_pd* domain) {
  const std::lock_guard lock(state().mutex);
  auto* mine = static_cast<FakeDomain*>(domain);
  if (!may_go(mine->children, "protection domain freed before its objects")) return EBUSY;
  --fake(*domain->context).children;
  delete mine;
  --state().live;
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* /*cq_context*/,
                      ibv_comp_channel* channel, int vector) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::create_cq)) return nullptr;
  if (vector < 0 || vector >= context->num_comp_vectors) {
    errno = EINVAL;
    return nullptr;
  }
  if (channel != nullptr) ++static_cast<FakeChannel*>(channel)->users;
  auto* queue = new FakeCompletionQueue{};
  queue->context = context;
  queue->channel = channel;
  queue->cqe = entries;
  queue->vector = vector;
  state().completion_queues.insert(queue);
  ++fake(*context).children;
  ++state().live;
  return queue;
}

int ibv_destroy_cq(ibv_cq* queue) {
  const std::lock_guard lock(state().mutex);
  auto* mine = static_cast<FakeCompletionQueue*>(queue);
  if (!may_go(mine->users, "completion queue destroyed before its queue pair")) return EBUSY;
  if (mine->unacknowledged != 0) violate("completion queue destroyed before its events");
  if (queue->channel != nullptr) {
    auto& channel = *static_cast<FakeChannel*>(queue->channel);
    --channel.users;
    std::erase(channel.events, queue);
  }
  --fake(*queue->context).children;
  state().completion_queues.erase(mine);
  delete mine;
  --state().live;
  return 0;
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  const std::lock_guard lock(state().mutex);
  ibv_qp_init_attr_ex all{};
  all.pd = domain;
  all.send_cq = attributes->send_cq;
  all.recv_cq = attributes->recv_cq;
  all.srq = attributes->srq;
  all.cap = attributes->cap;
  all.qp_type = attributes->qp_type;
  all.sq_sig_all = attributes->sq_sig_all;
  return make_queue_pair(*domain->context, all);
}

int ibv_destroy_qp(ibv_qp* queue_pair) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.queue_pairs.erase(queue_pair->qp_num);
  auto* mine = static_cast<FakeQueuePair*>(queue_pair);
  if (mine->unacknowledged != 0) violate("queue pair destroyed before its events: would block");
  for (ibv_cq* queue : {queue_pair->send_cq, queue_pair->recv_cq}) {
    if (queue != nullptr) --static_cast<FakeCompletionQueue*>(queue)->users;
  }
  if (mine->shared != nullptr) --mine->shared->users;
  if (mine->xrc_domain != nullptr) --mine->xrc_domain->children;
  if (queue_pair->pd != nullptr) --static_cast<FakeDomain*>(queue_pair->pd)->children;
  delete mine;
  --now.live;
  return 0;
}

}  // extern "C"
