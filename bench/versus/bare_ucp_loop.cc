// bare_ucp_loop send COUNT SIZE: a stream of tagged messages with nothing but libucp around it, and
// active ones where RDMABENCH_ACTIVE is set.
//
// The floor for our own cost per message over UCX. Both workers are in this process, over tcp,
// whose sockets hold all of them: a receiver finds them arrived, so callgrind counts nearly the
// same instructions on every run. As in ours, receives are posted before, and given back. Objects
// are left to the kernel. Source: ucp.h of UCX 1.13.
#include <ucp/api/ucp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t kDepth = 128;
constexpr std::uint64_t kReceives = 16384;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "bare_ucp_loop: %s\n", what);
  std::exit(1);
}

void must(ucs_status_t status, const char* what) {
  if (status != UCS_OK) die(what);
}

struct Side {
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  ucp_ep_h ep = nullptr;
  std::vector<char> bytes;
  ucp_request_param_t send{};
  ucp_request_param_t receive{};
  std::uint64_t under_way = 0;
  std::uint64_t arrived = 0;
};

bool is_active = false;

void on_sent(void* request, ucs_status_t status, void* side) {
  must(status, "a send");
  --static_cast<Side*>(side)->under_way;
  ucp_request_free(request);
}

void post_receive(Side& side) {
  if (UCS_PTR_IS_ERR(ucp_tag_recv_nbx(side.worker, side.bytes.data(), side.bytes.size(), 0,
                                      ~ucp_tag_t{0}, &side.receive))) {
    die("ucp_tag_recv_nbx");
  }
}

void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* /*info*/,
                 void* context) {
  must(status, "a receive");
  auto& side = *static_cast<Side*>(context);
  ++side.arrived;
  ucp_request_free(request);
  post_receive(side);
}

ucs_status_t on_active(void* context, const void* /*header*/, std::size_t /*header_bytes*/,
                       void* data, std::size_t bytes, const ucp_am_recv_param_t* /*how*/) {
  auto& side = *static_cast<Side*>(context);
  std::memcpy(side.bytes.data(), data, bytes);
  ++side.arrived;
  return UCS_OK;
}

void open(Side& side, std::uint64_t size, char fill) {
  ucp_config_t* settings = nullptr;
  must(ucp_config_read(nullptr, nullptr, &settings), "ucp_config_read");
  must(ucp_config_modify(settings, "TLS", "tcp"), "ucp_config_modify");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = is_active ? UCP_FEATURE_AM : UCP_FEATURE_TAG;
  must(ucp_init(&params, settings, &side.context), "ucp_init");
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  must(ucp_worker_create(side.context, &worker, &side.worker), "ucp_worker_create");
  side.bytes.assign(size, fill);
  side.send.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                           UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_MULTI_SEND;
  side.send.cb.send = &on_sent;
  side.send.user_data = &side;
  side.send.memory_type = UCS_MEMORY_TYPE_HOST;
  side.receive = side.send;
  side.receive.op_attr_mask =
      (side.send.op_attr_mask & ~std::uint32_t{UCP_OP_ATTR_FLAG_MULTI_SEND}) |
      UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  side.receive.cb.recv = &on_received;
  if (!is_active) return;
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.cb = &on_active;
  handler.arg = &side;
  must(ucp_worker_set_am_recv_handler(side.worker, &handler), "ucp_worker_set_am_recv_handler");
}

void connect(Side& side, const Side& peer) {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  must(ucp_worker_get_address(peer.worker, &address, &bytes), "ucp_worker_get_address");
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address = address;
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  must(ucp_ep_create(side.worker, &params, &side.ep), "ucp_ep_create");
}

void send(Side& side) {
  static constexpr std::uint64_t kHeader = 0;
  void* const result =
      is_active ? ucp_am_send_nbx(side.ep, 0, &kHeader, sizeof kHeader, side.bytes.data(),
                                  side.bytes.size(), &side.send)
                : ucp_tag_send_nbx(side.ep, side.bytes.data(), side.bytes.size(), 0, &side.send);
  if (UCS_PTR_IS_ERR(result)) die("a send");
  if (result != nullptr) ++side.under_way;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || std::string(argv[1]) != "send") die("usage: bare_ucp_loop send COUNT SIZE");
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t size = std::strtoull(argv[3], nullptr, 10);
  if (count == 0 || count > kReceives || size == 0) die("COUNT is 1 to 16384, SIZE at least 1");
  is_active = std::getenv("RDMABENCH_ACTIVE") != nullptr;
  Side from, to;
  open(from, size, 'x');
  open(to, size, 'y');
  connect(from, to);
  connect(to, from);
  // As many for every COUNT, so that set-up is the same and drops out of a difference.
  for (std::uint64_t i = 0; i < kReceives && !is_active; ++i) post_receive(to);
  if (!is_active) post_receive(from);
  send(from);
  send(to);
  while (from.arrived == 0 || to.arrived == 0) {  // they connect
    ucp_worker_progress(from.worker);
    ucp_worker_progress(to.worker);
  }
  std::uint64_t posted = 0;
  while (posted < count || from.under_way != 0) {
    while (posted < count && from.under_way < kDepth) {
      send(from);
      ++posted;
    }
    ucp_worker_progress(from.worker);
  }
  while (to.arrived < count + 1) ucp_worker_progress(to.worker);
  return from.bytes == to.bytes ? 0 : 1;
}
