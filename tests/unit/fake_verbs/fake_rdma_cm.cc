// The connection manager: connects identifiers of one process, and knows no queue pairs.
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "state.h"

namespace rdmabench::inline v1::fake_verbs {

struct FakeEvent : rdma_cm_event {
  std::vector<std::uint8_t> data;
};

struct FakeEventChannel : rdma_event_channel {
  int write_end = -1;
  std::deque<FakeEvent*> events;  ///< one for each byte in the pipe
};

struct FakeId : rdma_cm_id {
  ibv_context fake_context{};
  ibv_device fake_device{};
  FakeId* peer = nullptr;
  std::uint16_t destination = 0;
  std::uint32_t remote_number = 0;
  int unacknowledged = 0;
};

namespace {

std::set<FakeId*>& ids() {
  static std::set<FakeId*> all;
  return all;
}

FakeId& mine(rdma_cm_id* id) {
  return *static_cast<FakeId*>(id);
}

/// As librdmacm does: -1, and errno.
int result(int code) {
  if (code == 0) return 0;
  errno = code;
  return -1;
}

std::string text(const sockaddr& address) {
  char buffer[INET6_ADDRSTRLEN] = "";
  if (address.sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, buffer,
              sizeof buffer);
  } else {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, buffer,
              sizeof buffer);
  }
  return buffer;
}

/// The device with the address as a GID; "" if there is none.
std::string device_of(const sockaddr& address) {
  for (const Device& device : state().devices) {
    for (const Port& port : device.ports) {
      for (const Gid& gid : port.gids) {
        if (gid.address == text(address)) {
          return state().manager_device.empty() ? device.name : state().manager_device;
        }
      }
    }
  }
  return "";
}

void bind_to(FakeId& id, const std::string& device, std::uint8_t port = 1) {
  device.copy(id.fake_device.name, sizeof id.fake_device.name - 1);
  id.fake_context.device = &id.fake_device;
  id.verbs = &id.fake_context;
  id.port_num = port;
}

FakeId* make_id(rdma_event_channel* channel) {
  auto* id = new FakeId{};
  id->channel = channel;
  ids().insert(id);
  ++state().live;
  return id;
}

void forget(FakeId& id) {
  if (id.peer != nullptr) id.peer->peer = nullptr;
  ids().erase(&id);
  delete &id;
  --state().live;
}

void tell(FakeId& id, rdma_cm_event_type type, int status = 0,
          const rdma_conn_param* parameters = nullptr) {
  ManagerFault& fault = state().manager_fault;
  if (fault.set && fault.instead_of == type) {
    fault.set = false;
    if (fault.status == kSilence) return;
    type = fault.type;
    status = fault.status;
  }
  auto* event = new FakeEvent{};
  event->id = &id;
  event->event = type;
  event->status = status;
  if (parameters != nullptr) {
    event->param.conn = *parameters;
    const auto* data = static_cast<const std::uint8_t*>(parameters->private_data);
    event->data.assign(data, data + parameters->private_data_len);
    // As InfiniBand pads it.
    const std::size_t least = type == RDMA_CM_EVENT_REJECTED ? 148 : 56;
    event->data.resize(std::max(event->data.size(), least));
    event->param.conn.private_data = event->data.data();
    event->param.conn.private_data_len = static_cast<std::uint8_t>(event->data.size());
  }
  auto& channel = *static_cast<FakeEventChannel*>(id.channel);
  channel.events.push_back(event);
  const char byte = 0;
  if (write(channel.write_end, &byte, 1) != 1) violate("a full event channel");
}

}  // namespace

void manager_answers(rdma_cm_event_type instead_of, rdma_cm_event_type type, int status) {
  const std::lock_guard lock(state().mutex);
  state().manager_fault = {true, instead_of, type, status};
}

void route_by(const std::string& device) {
  const std::lock_guard lock(state().mutex);
  state().manager_device = device;
}

void arrive_by(const std::string& device, std::uint8_t port) {
  const std::lock_guard lock(state().mutex);
  state().arrival_device = device;
  state().arrival_port = port;
}

}  // namespace rdmabench::inline v1::fake_verbs

using namespace rdmabench::fake_verbs;

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  const std::lock_guard lock(state().mutex);
  int ends[2];
  if (refused(Call::create_event_channel) || pipe(ends) != 0) return nullptr;
  auto* channel = new FakeEventChannel{};
  channel->fd = ends[0];
  channel->write_end = ends[1];
  ++state().live;
  return channel;
}

void rdma_destroy_event_channel(rdma_event_channel* channel) {
  const std::lock_guard lock(state().mutex);
  auto* own = static_cast<FakeEventChannel*>(channel);
  for (const FakeId* id : ids()) {
    if (id->channel == channel) violate("event channel destroyed before its identifiers");
  }
  close(own->fd);
  close(own->write_end);
  for (const FakeEvent* event : own->events) delete event;
  delete own;
  --state().live;
}

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* /*context*/,
                   rdma_port_space /*space*/) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::create_id)) return -1;
  *id = make_id(channel);
  return 0;
}

int rdma_destroy_id(rdma_cm_id* id) {
  const std::lock_guard lock(state().mutex);
  FakeId& own = mine(id);
  if (own.unacknowledged != 0) violate("identifier destroyed before its events: would block");
  const bool listened = std::erase_if(state().listeners, [&own](const auto& entry) {
                          return entry.second == &own;
                        }) != 0;
  std::erase_if(static_cast<FakeEventChannel*>(id->channel)->events, [&](FakeEvent* event) {
    // Who knocked and was never seen goes with the listener.
    const bool unseen = listened && event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
    if (event->id != id && !unseen) return false;
    if (unseen) forget(mine(event->id));
    delete event;
    return true;
  });
  forget(own);
  return 0;
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::bind_addr)) return -1;
  const std::string device = device_of(*address);
  if (device.empty()) return result(EADDRNOTAVAIL);
  bind_to(mine(id), device);
  return 0;
}

int rdma_listen(rdma_cm_id* id, int /*backlog*/) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::rdma_listen)) return -1;
  mine(id).destination = state().next_port;
  state().listeners[state().next_port++] = &mine(id);
  return 0;
}

__be16 rdma_get_src_port(rdma_cm_id* id) {
  return htons(mine(id).destination);
}

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* /*from*/, sockaddr* to, int /*milliseconds*/) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::resolve_addr)) return -1;
  const std::string device = device_of(*to);
  mine(id).destination = ntohs(reinterpret_cast<const sockaddr_in*>(to)->sin_port);
  if (device.empty()) {
    tell(mine(id), RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
  } else {
    bind_to(mine(id), device);
    tell(mine(id), RDMA_CM_EVENT_ADDR_RESOLVED);
  }
  return 0;
}

int rdma_resolve_route(rdma_cm_id* id, int /*milliseconds*/) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::resolve_route)) return -1;
  tell(mine(id), RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}

int rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::rdma_connect)) return -1;
  const auto listener = state().listeners.find(mine(id).destination);
  if (listener == state().listeners.end()) {
    tell(mine(id), RDMA_CM_EVENT_REJECTED, 8);
    return 0;
  }
  FakeId* request = make_id(listener->second->channel);
  if (state().arrival_device.empty()) {
    bind_to(*request, listener->second->fake_device.name);
  } else {
    bind_to(*request, state().arrival_device, state().arrival_port);
  }
  request->peer = &mine(id);
  request->remote_number = parameters->qp_num;
  mine(id).peer = request;
  tell(*request, RDMA_CM_EVENT_CONNECT_REQUEST, 0, parameters);
  return 0;
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::rdma_accept)) return -1;
  FakeId* peer = mine(id).peer;
  if (peer == nullptr) return result(ECONNRESET);
  peer->remote_number = parameters->qp_num;
  tell(*peer, RDMA_CM_EVENT_CONNECT_RESPONSE);
  return 0;
}

int rdma_reject(rdma_cm_id* id, const void* data, uint8_t length) {
  const std::lock_guard lock(state().mutex);
  rdma_conn_param parameters{};
  parameters.private_data = data;
  parameters.private_data_len = length;
  if (mine(id).peer != nullptr) tell(*mine(id).peer, RDMA_CM_EVENT_REJECTED, 28, &parameters);
  return 0;
}

int rdma_establish(rdma_cm_id* id) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::rdma_establish)) return -1;
  if (mine(id).peer != nullptr) tell(*mine(id).peer, RDMA_CM_EVENT_ESTABLISHED);
  return 0;
}

int rdma_disconnect(rdma_cm_id* id) {
  const std::lock_guard lock(state().mutex);
  if (mine(id).peer != nullptr) tell(*mine(id).peer, RDMA_CM_EVENT_DISCONNECTED);
  return 0;
}

int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::init_qp_attr)) return -1;
  const ibv_qp_state to = attributes->qp_state;
  *attributes = {};
  attributes->qp_state = to;
  if (to == IBV_QPS_RTR) {
    *mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    attributes->dest_qp_num = mine(id).remote_number;
    attributes->path_mtu = IBV_MTU_256;
    attributes->ah_attr.port_num = 1;
    attributes->ah_attr.is_global = 1;
    attributes->ah_attr.grh.sgid_index = 1;
    attributes->ah_attr.grh.hop_limit = 64;
  } else {
    *mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT |
            IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
  }
  return 0;
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  {
    const std::lock_guard lock(state().mutex);
    if (refused(Call::get_cm_event)) return -1;
  }
  char byte = 0;
  if (read(channel->fd, &byte, 1) != 1) return -1;  // errno is read()'s
  const std::lock_guard lock(state().mutex);
  auto& events = static_cast<FakeEventChannel*>(channel)->events;
  if (events.empty()) return result(EAGAIN);  // of an identifier that is gone
  FakeEvent* first = events.front();
  events.pop_front();
  ++mine(first->id).unacknowledged;
  *event = first;
  return 0;
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  const std::lock_guard lock(state().mutex);
  --mine(event->id).unacknowledged;
  delete static_cast<FakeEvent*>(event);
  return 0;
}

const char* rdma_event_str(rdma_cm_event_type /*type*/) {
  return "RDMA_CM_EVENT";
}

}  // extern "C"
