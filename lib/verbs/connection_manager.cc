#include "verbs/connection_manager.h"

#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rdmabench/base/error.h"
#include "verbs/path.h"
#include "verbs/setup_error.h"

namespace rdmabench::inline v1::verbs {
namespace {

/// Private data of a connect request, in network byte order.
struct [[gnu::packed]] Ticket {
  std::uint64_t session;
  std::uint32_t number;
};

void must(SetupCall call, int result, const std::string& what) {
  if (result != 0) throw setup_error(call, what, errno);
}

/// By rdma_reject(3), with private data. InfiniBand pads it with zeros.
constexpr int kRefusedByServer = 28;
constexpr std::size_t kMostRefusal = 148;  // bytes, of InfiniBand

/// "mlx5_0:1".
std::string place_of(const rdma_cm_id& id) {
  return fmt::format("{}:{}", id.verbs == nullptr ? "" : ibv_get_device_name(id.verbs->device),
                     id.port_num);
}

std::string place_of(const ManagedConnection& with) {
  return fmt::format("{}:{}", with.device, with.port);
}

/// Why a connect request was rejected. Source: InfiniBand Architecture Specification, table
/// "REJ reason codes"; on iWARP the status is an errno.
std::string rejection(int status) {
  switch (status) {
    case 8:
      return "nothing listens there: the server has ended, or a firewall blocks it";
    case 10:
      return "a stale connection of the same queue pair";
    case kRefusedByServer:
      return "the server waits for another client";
    default:
      return fmt::format("reason {}", status);
  }
}

/// Explains an unexpected event of a step. `refusal`: what the peer says of its rejection.
std::string describe(rdma_cm_event_type type, int status, std::string_view refusal) {
  const std::string cause = status < 0 ? fmt::format(": {}", errno_text(-status)) : "";
  switch (type) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      return fmt::format("the address could not be resolved{}", cause);
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return fmt::format("no route was found{}", cause);
    case RDMA_CM_EVENT_UNREACHABLE:
      return fmt::format("the peer did not answer{}", cause);
    case RDMA_CM_EVENT_REJECTED:
      return fmt::format("rejected, {}", refusal.empty() ? rejection(status) : refusal);
    case RDMA_CM_EVENT_CONNECT_ERROR:
      return fmt::format("the connection could not be established{}", cause);
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return "the device was removed";
    case RDMA_CM_EVENT_DISCONNECTED:
      return "the peer disconnected";
    default:
      return fmt::format("unexpected event {}{}", rdma_event_str(type), cause);
  }
}

/// To RTR or RTS with the attributes of the manager, except those that the caller sets.
void bring_up(rdma_cm_id& id, ibv_qp& queue_pair, const ManagedConnection& with) {
  for (const ibv_qp_state state : {IBV_QPS_RTR, IBV_QPS_RTS}) {
    const char* name = state == IBV_QPS_RTR ? "RTR" : "RTS";
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    int mask = 0;
    must(SetupCall::any, rdma_init_qp_attr(&id, &attributes, &mask),
         fmt::format("rdma_init_qp_attr({})", name));
    const PathAttributes usual;
    ibv_global_route& route = attributes.ah_attr.grh;
    if (with.path.service_level != usual.service_level) {
      attributes.ah_attr.sl = with.path.service_level;
    }
    if (with.path.traffic_class != usual.traffic_class) {
      route.traffic_class = with.path.traffic_class;
    }
    if (with.path.flow_label != usual.flow_label) route.flow_label = with.path.flow_label;
    if (with.path.hop_limit != usual.hop_limit) route.hop_limit = with.path.hop_limit;
    attributes.path_mtu = encode_mtu(with.mtu);
    attributes.max_dest_rd_atomic = with.reads_in;
    attributes.max_rd_atomic = with.reads_out;
    attributes.min_rnr_timer = with.path.rnr_timer;
    attributes.timeout = with.path.timeout;
    attributes.retry_cnt = with.path.retries;
    attributes.rnr_retry = with.path.rnr_retries;
    if (const int code = ibv_modify_qp(&queue_pair, &attributes, mask); code != 0) {
      throw setup_error(state == IBV_QPS_RTR ? SetupCall::modify_qp_rtr : SetupCall::modify_qp_rts,
                        fmt::format("ibv_modify_qp(to {}, by rdma_cm)", name), code,
                        {.context = id.verbs});
    }
  }
}

rdma_conn_param parameters(const ibv_qp& queue_pair, const ManagedConnection& with) {
  rdma_conn_param parameters{};
  parameters.responder_resources = with.reads_in;
  parameters.initiator_depth = with.reads_out;
  parameters.retry_count = with.path.retries;
  parameters.rnr_retry_count = with.path.rnr_retries;
  parameters.qp_num = queue_pair.qp_num;
  return parameters;
}

}  // namespace

ConnectionManager::ConnectionManager() : channel_(rdma_create_event_channel()) {
  if (channel_ == nullptr) {
    throw setup_error(SetupCall::create_event_channel, "rdma_create_event_channel()", errno, {},
                      Fault::unavailable);
  }
  const int flags = fcntl(channel_->fd, F_GETFL);
  must(SetupCall::create_event_channel,
       flags < 0 ? -1 : fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK), "fcntl(rdma_cm)");
}

ConnectionManager::~ConnectionManager() {
  for (const Id& id : ids_) rdma_disconnect(id.get());
}

ConnectionManager::Id ConnectionManager::make_id() {
  rdma_cm_id* id = nullptr;
  must(SetupCall::create_id, rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP),
       "rdma_create_id()");
  return Id(id);
}

ConnectionManager::Event ConnectionManager::next(const ManagedConnection& with,
                                                 std::string_view step, Deadline deadline) {
  constexpr std::int64_t kStopNap = 100;  // milliseconds after which a stop is noticed
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(channel_.get(), &event) != 0) {
    if (errno != EAGAIN && errno != EINTR)
      throw setup_error(SetupCall::any, "rdma_get_cm_event()", errno);
    if (with.stop.stop_requested()) throw Cancelled();
    if (deadline.passed()) {
      throw Error(Fault::failed,
                  fmt::format("{}: no event within {} ms", step, with.timeout.count()),
                  "Check that the peer still runs and that packets reach it; raise `timeout`.");
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left()).count();
    pollfd readable{.fd = channel_->fd, .events = POLLIN, .revents = 0};
    poll(&readable, 1, static_cast<int>(std::min<std::int64_t>(left, kStopNap)));
  }
  Event copy{.type = event->event, .status = event->status, .id = event->id};
  // InfiniBand pads private data, so shorter data is not from rdmabench.
  if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST &&
      event->param.conn.private_data_len >= sizeof(Ticket)) {
    Ticket ticket;
    std::memcpy(&ticket, event->param.conn.private_data, sizeof ticket);
    copy.session = be64toh(ticket.session);
    copy.number = be32toh(ticket.number);
  }
  if (event->event == RDMA_CM_EVENT_REJECTED && event->status == kRefusedByServer) {
    const rdma_conn_param& answer = event->param.conn;
    const std::string text(static_cast<const char*>(answer.private_data), answer.private_data_len);
    copy.refusal = ascii_only(text.c_str());
  }
  rdma_ack_cm_event(event);
  return copy;
}

void ConnectionManager::expect(rdma_cm_event_type type, const ManagedConnection& with,
                               SetupCall call, const std::string& step) {
  const Event event = next(with, step, Deadline::after(with.timeout));
  if (event.type == type) return;
  const int code = event.type == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED : std::max(-event.status, 0);
  throw Error(Fault::failed,
              fmt::format("{}: {}", step, describe(event.type, event.status, event.refusal)),
              setup_remedy(call, code));
}

std::uint16_t ConnectionManager::listen(const Gid& at, std::uint32_t backlog) {
  SocketAddress address(at, 0);
  listener_ = make_id();
  must(SetupCall::bind_addr, rdma_bind_addr(listener_.get(), &address.any()),
       fmt::format("rdma_bind_addr({})", to_text(at)));
  must(SetupCall::listen, rdma_listen(listener_.get(), static_cast<int>(backlog)),
       fmt::format("rdma_listen({})", to_text(at)));
  return ntohs(rdma_get_src_port(listener_.get()));
}

bool ConnectionManager::accept_one(Id id, const Event& request,
                                   std::span<const QueuePair> queue_pairs, std::vector<bool>& taken,
                                   const ManagedConnection& with) {
  if (request.session != with.session || request.number >= queue_pairs.size() ||
      taken[request.number]) {
    rdma_reject(id.get(), nullptr, 0);
    return false;
  }
  // Several devices may have the address that was listened on, as the two of a bond.
  if (place_of(*id) != place_of(with)) {
    const std::string why =
        fmt::format("the client's request arrived by {}, but the server's queue pairs belong to {}",
                    place_of(*id), place_of(with));
    rdma_reject(id.get(), why.data(),
                static_cast<std::uint8_t>(std::min(why.size(), kMostRefusal)));
    throw Error(Fault::unavailable, fmt::format("rdma_cm: {}", why),
                "Start the server with that device, or leave out `rdma_cm`.");
  }
  taken[request.number] = true;
  ibv_qp& queue_pair = *queue_pairs[request.number];
  bring_up(*id, queue_pair, with);
  rdma_conn_param answer = parameters(queue_pair, with);
  ids_.push_back(std::move(id));
  must(SetupCall::accept, rdma_accept(ids_.back().get(), &answer),
       fmt::format("rdma_accept(queue pair {})", request.number));
  return true;
}

void ConnectionManager::accept(std::span<const QueuePair> queue_pairs,
                               const ManagedConnection& with) {
  constexpr std::string_view kStep = "waiting for the client's rdma_cm connections";
  std::vector<bool> taken(queue_pairs.size());
  Deadline deadline = Deadline::after(with.timeout);  // requests of other clients do not extend it
  for (std::size_t open = 0; open < queue_pairs.size();) {
    const Event event = next(with, kStep, deadline);
    bool ours = event.type == RDMA_CM_EVENT_ESTABLISHED;
    if (ours) {
      ++open;
    } else if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      ours = accept_one(Id(event.id), event, queue_pairs, taken, with);
    } else {
      throw Error(Fault::failed,
                  fmt::format("{}: {}", kStep, describe(event.type, event.status, event.refusal)));
    }
    if (ours) deadline = Deadline::after(with.timeout);
  }
}

void ConnectionManager::connect(const Gid& from, const Gid& to, std::uint16_t port,
                                std::span<const QueuePair> queue_pairs,
                                const ManagedConnection& with) {
  const std::string where = fmt::format("{} port {}, from {}", to_text(to), port, to_text(from));
  SocketAddress source(from, 0);
  SocketAddress destination(to, port);
  for (std::uint32_t i = 0; i < queue_pairs.size(); ++i) {
    connect_one(source.any(), destination.any(), where, i, *queue_pairs[i], with);
  }
}

void ConnectionManager::connect_one(const sockaddr& from, const sockaddr& to,
                                    const std::string& where, std::uint32_t number,
                                    ibv_qp& queue_pair, const ManagedConnection& with) {
  ids_.push_back(make_id());
  rdma_cm_id* id = ids_.back().get();
  const auto milliseconds = static_cast<int>(std::min<std::int64_t>(with.timeout.count(), 60000));
  std::string step = fmt::format("rdma_resolve_addr({})", where);
  must(
      SetupCall::resolve_addr,
      rdma_resolve_addr(id, const_cast<sockaddr*>(&from), const_cast<sockaddr*>(&to), milliseconds),
      step);
  expect(RDMA_CM_EVENT_ADDR_RESOLVED, with, SetupCall::resolve_addr, step);
  if (place_of(*id) != place_of(with)) {
    throw Error(Fault::unavailable,
                fmt::format("rdma_cm reaches {} by {}, but the queue pairs belong to {}", where,
                            place_of(*id), place_of(with)),
                "Choose it in `devices`, or leave out `rdma_cm`.");
  }
  step = fmt::format("rdma_resolve_route({})", where);
  must(SetupCall::resolve_route, rdma_resolve_route(id, milliseconds), step);
  expect(RDMA_CM_EVENT_ROUTE_RESOLVED, with, SetupCall::resolve_route, step);

  step = fmt::format("rdma_connect({}, queue pair {})", where, number);
  const Ticket ticket{.session = htobe64(with.session), .number = htobe32(number)};
  rdma_conn_param request = parameters(queue_pair, with);
  request.private_data = &ticket;
  request.private_data_len = sizeof ticket;
  must(SetupCall::connect, rdma_connect(id, &request), step);
  // The manager does not own the queue pair, so the caller must confirm the connection.
  expect(RDMA_CM_EVENT_CONNECT_RESPONSE, with, SetupCall::connect, step);
  bring_up(*id, queue_pair, with);
  must(SetupCall::accept, rdma_establish(id), fmt::format("rdma_establish({})", where));
}

}  // namespace rdmabench::inline v1::verbs
