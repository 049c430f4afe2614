// Address handles, shared receive queues, XRC domains, and completion channels.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "state.h"

namespace rdmabench::inline v1::fake_verbs {
namespace {

FakeSharedQueue* make_shared_queue(ibv_context& context, ibv_pd& domain,
                                   const ibv_srq_attr& attributes) {
  State& now = state();
  if (refused(Call::create_srq)) return nullptr;
  const Device& device = fake(context).device->config;
  if (device.max_srq == 0 || attributes.max_wr > static_cast<std::uint32_t>(device.max_srq_wr)) {
    errno = EINVAL;
    return nullptr;
  }
  auto* queue = new FakeSharedQueue{};
  queue->context = &context;
  queue->pd = &domain;
  queue->limit = attributes.max_wr;
  queue->number = now.next_number++;
  now.shared_queues[queue->number] = queue;
  ++static_cast<FakeDomain&>(domain).children;
  ++now.live;
  return queue;
}

ibv_srq* create_xrc_queue(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
  const std::lock_guard lock(state().mutex);
  if (attributes->srq_type != IBV_SRQT_XRC || attributes->xrcd == nullptr ||
      attributes->cq == nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  FakeSharedQueue* queue = make_shared_queue(*context, *attributes->pd, attributes->attr);
  if (queue == nullptr) return nullptr;
  queue->xrc_domain = static_cast<FakeXrcDomain*>(attributes->xrcd);
  queue->completions = attributes->cq;
  ++queue->xrc_domain->children;
  ++static_cast<FakeCompletionQueue*>(attributes->cq)->users;
  return queue;
}

int get_number(ibv_srq* queue, std::uint32_t* number) {
  *number = static_cast<FakeSharedQueue*>(queue)->number;
  return 0;
}

ibv_qp* create_queue_pair(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  const std::lock_guard lock(state().mutex);
  return make_connected(*context, *attributes);
}

ibv_xrcd* open_domain(ibv_context* context, ibv_xrcd_init_attr* /*attributes*/) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::open_xrcd)) return nullptr;
  auto* domain = new FakeXrcDomain{};
  domain->context = context;
  ++fake(*context).children;
  ++state().live;
  return domain;
}

int close_domain(ibv_xrcd* domain) {
  const std::lock_guard lock(state().mutex);
  auto* mine = static_cast<FakeXrcDomain*>(domain);
  if (!may_go(mine->children, "XRC domain closed before its objects")) return EBUSY;
  --fake(*domain->context).children;
  delete mine;
  --state().live;
  return 0;
}

}  // namespace

FakeQueuePair* make_connected(ibv_context& context, const ibv_qp_init_attr_ex& attributes) {
  const bool receiver = attributes.qp_type == IBV_QPT_XRC_RECV && attributes.xrcd != nullptr;
  const bool posts =
      attributes.qp_type == IBV_QPT_RC &&
      attributes.comp_mask == (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
  const bool plain =
      attributes.qp_type != IBV_QPT_DRIVER && attributes.comp_mask == IBV_QP_INIT_ATTR_PD;
  if (!receiver && !posts && !plain) {
    errno = EINVAL;
    return nullptr;
  }
  FakeQueuePair* const made = make_queue_pair(context, attributes);
  if (made != nullptr && posts) made->requests = make_requests(*made, attributes.send_ops_flags);
  return made;
}

void offer_extended_calls(verbs_context& context) {
  context.create_srq_ex = create_xrc_queue;
  context.get_srq_num = get_number;
  context.create_qp_ex = create_queue_pair;
  context.open_xrcd = open_domain;
  context.close_xrcd = close_domain;
}

int request_notify(ibv_cq* queue, int /*solicited_only*/) {
  const std::lock_guard lock(state().mutex);
  if (const int code = count(Call::req_notify_cq); code != 0) return code;
  static_cast<FakeCompletionQueue*>(queue)->armed = true;
  return 0;
}

void notify(FakeCompletionQueue& queue) {
  if (!queue.armed || queue.channel == nullptr) return;
  queue.armed = false;
  auto& channel = *static_cast<FakeChannel*>(queue.channel);
  channel.events.push_back(&queue);
  const char byte = 0;
  if (write(channel.write_end, &byte, 1) != 1) violate("a full completion channel");
}

}  // namespace rdmabench::inline v1::fake_verbs

using namespace rdmabench::fake_verbs;

extern "C" {

ibv_ah* ibv_create_ah(ibv_pd* domain, ibv_ah_attr* attributes) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (refused(Call::create_ah)) return nullptr;
  if (!is_valid(domain->context, *attributes)) {
    errno = EINVAL;
    return nullptr;
  }
  auto* handle = new FakeAddressHandle{};
  handle->context = domain->context;
  handle->pd = domain;
  handle->vector = *attributes;
  const std::uint32_t label = attributes->grh.flow_label;
  handle->source_port = label != 0 ? ibv_flow_label_to_udp_sport(label)
                                   : ibv_flow_label_to_udp_sport(++now.next_source_port);
  now.address_handles[handle] = handle;
  ++static_cast<FakeDomain*>(domain)->children;
  ++now.live;
  return handle;
}

int ibv_destroy_ah(ibv_ah* handle) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.address_handles.erase(handle);
  --static_cast<FakeDomain*>(handle->pd)->children;
  delete static_cast<FakeAddressHandle*>(handle);
  --now.live;
  return 0;
}

ibv_srq* ibv_create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) {
  const std::lock_guard lock(state().mutex);
  return make_shared_queue(*domain->context, *domain, attributes->attr);
}

int ibv_destroy_srq(ibv_srq* queue) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  auto* mine = static_cast<FakeSharedQueue*>(queue);
  if (!may_go(mine->users, "shared receive queue destroyed before its queue pairs")) return EBUSY;
  now.shared_queues.erase(mine->number);
  --static_cast<FakeDomain*>(queue->pd)->children;
  if (mine->xrc_domain != nullptr) --mine->xrc_domain->children;
  if (mine->completions != nullptr) --static_cast<FakeCompletionQueue*>(mine->completions)->users;
  delete mine;
  --now.live;
  return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::create_comp_channel)) return nullptr;
  int ends[2];
  if (pipe(ends) != 0) return nullptr;
  auto* channel = new FakeChannel{};
  channel->context = context;
  channel->fd = ends[0];
  channel->write_end = ends[1];
  ++fake(*context).children;
  ++state().live;
  return channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  const std::lock_guard lock(state().mutex);
  auto* mine = static_cast<FakeChannel*>(channel);
  if (!may_go(mine->users, "completion channel destroyed before its queues")) return EBUSY;
  close(mine->fd);
  close(mine->write_end);
  --fake(*channel->context).children;
  delete mine;
  --state().live;
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** context) {
  {
    const std::lock_guard lock(state().mutex);
    if (refused(Call::get_cq_event)) return -1;
  }
  char byte = 0;
  if (read(channel->fd, &byte, 1) != 1) return -1;  // errno is read()'s, as with the kernel
  const std::lock_guard lock(state().mutex);
  auto& mine = *static_cast<FakeChannel*>(channel);
  if (mine.events.empty()) {  // of a queue that is gone
    errno = EAGAIN;
    return -1;
  }
  *queue = mine.events.front();
  mine.events.pop_front();
  *context = (*queue)->cq_context;
  ++static_cast<FakeCompletionQueue*>(*queue)->unacknowledged;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* queue, unsigned int number) {
  const std::lock_guard lock(state().mutex);
  auto& mine = *static_cast<FakeCompletionQueue*>(queue);
  if (number > mine.unacknowledged) violate("more events acknowledged than there were");
  mine.unacknowledged -= std::min(number, mine.unacknowledged);
}

}  // extern "C"
