// fake_verbs: a libibverbs for tests, with no device, no kernel and faults to order.
//
// It is linked instead of the real library. Its RC, UC, UD and XRC queue pairs, connected in one
// process, really move bytes: a message is carried out when it is posted, or when the receive it
// waits for is; over UC and UD it is lost where there is none, and over UD where its Q_Key is not
// that of its target. So do DC and SRD queue pairs, which mlx5dv and efadv make and ibv_wr_post(3)
// posts to; over SRD the last message of a list goes first, and what completed last is polled
// first. What the real library leaves undefined in a completion is poisoned here. As libmlx5 does,
// an mlx5 device delivers short messages in the completion: the poll copies them by the processor.
// Thread rule: any thread may call.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace rdmabench::inline v1::fake_verbs {

struct Gid {
  std::uint32_t index;
  std::string address;  ///< "10.0.0.1" or IPv6
  ibv_gid_type type = IBV_GID_TYPE_ROCE_V2;
  std::uint32_t interface_index = 0;
};

struct Port {
  ibv_port_state state = IBV_PORT_ACTIVE;
  std::uint8_t link_layer = IBV_LINK_LAYER_ETHERNET;
  ibv_mtu active_mtu = IBV_MTU_1024;
  std::uint16_t lid = 0;
  std::uint8_t flags = 0;
  std::uint8_t width = 1;
  std::uint8_t speed = 1;       ///< at most 128 (NDR): the field has 8 bits
  std::uint64_t effective = 0;  ///< ibv_query_port_speed(), of 100 Mb/s; 0: EOPNOTSUPP
  std::uint32_t max_msg_sz = 1U << 23;
  std::uint16_t partition_keys = 1;
  std::vector<Gid> gids = {};
};

struct Device {
  std::string name;
  ibv_transport_type transport = IBV_TRANSPORT_IB;
  std::string sysfs = {};  ///< the folder that stands for /sys/class/infiniband/NAME
  std::uint64_t guid = 0x0123456789abcdef;
  int max_qp_wr = 1024;
  int max_cqe = 4096;
  int max_reads = 128;
  std::uint32_t max_inline = 512;
  /// A send queue has max_qp_wr blocks of 64 bytes, as of libmlx5, and not as many requests: one
  /// has its header, its segments or its inline data, in whole blocks. 0: it counts requests.
  std::uint32_t request_header = 0;
  std::uint64_t max_mr_size = 0;  ///< 0: not told
  bool takes_dma_buf = false;
  bool peer_memory = false;  ///< ibv_reg_mr() takes addresses of the fake GPU; else EFAULT
  bool data_direct = false;  ///< mlx5dv_get_data_direct_sysfs_path() finds a function
  ibv_odp_caps on_demand = {};
  std::uint32_t xrc_on_demand = 0;
  std::uint32_t dc_on_demand = 0;  ///< mlx5dv_query_device() tells it
  int max_qp = 1024;
  int max_sge = 8;
  int max_srq = 16;
  int max_srq_wr = 4096;
  int completion_vectors = 2;
  ibv_atomic_cap atomics = IBV_ATOMIC_HCA;
  bool xrc = true;
  std::uint64_t capabilities = 0;  ///< device_cap_flags_ex
  int max_sge_rd = 1;
  bool mlx5 = false;           ///< mlx5dv_is_supported(), so it has DC
  int completion_bytes = 64;   ///< mlx5: 64, or 128, which hold longer messages
  bool data_in_order = false;  ///< ibv_query_qp_data_in_order() of what takes messages
  /// Of a write above the path MTU, the last packet is to be seen before the others.
  bool last_packet_first = false;
  bool efa = false;                         ///< efadv_query_device() knows it, so it has SRD
  std::uint32_t efa_capabilities = 0b1011;  ///< RDMA read, RNR retries, RDMA write
  std::uint16_t efa_inline = 32;
  std::uint32_t efa_max_rdma = 1U << 20;
  std::vector<Port> ports = {};
};

/// The calls that can be made to fail.
enum class Call {
  get_device_list,
  open_device,
  query_device,
  query_device_ex,
  query_port,
  query_gid,
  query_gid_table,
  alloc_pd,
  reg_mr,
  reg_dmabuf_mr,
  dereg_mr,
  create_cq,
  create_qp,
  modify_qp,
  post_send,
  wr_complete,
  post_recv,
  poll_cq,
  create_ah,
  create_srq,
  open_xrcd,
  create_comp_channel,
  req_notify_cq,
  get_cq_event,
  create_event_channel,
  create_id,
  bind_addr,
  rdma_listen,
  resolve_addr,
  resolve_route,
  rdma_connect,
  rdma_accept,
  rdma_establish,
  init_qp_attr,
  get_cm_event,
  get_async_event,
};

/// One active Soft-RoCE-like device, "rxe0", GID 0 fe80::1 and GID 1 10.0.0.1.
Device soft_roce();

/// "mlx5_0" on Ethernet with DC, GID 0 10.0.0.1.
Device mlx5();
/// "efa_0" with SRD, as the kernel's driver describes it: no RC, no link layer, one GID.
Device efa();

/// Forgets every fault, count and device, and then has `devices`. Objects must be gone by then.
void reset(std::vector<Device> devices = {soft_roce()});

/// The `nth` call of `call` from now on, from 1, fails with `code`; the ones around it do not.
void fail(Call call, int nth, int code);
/// Whether that fault has struck.
bool struck();
/// How often `call` was made since reset().
int calls(Call call);

/// The next `times` messages to be carried out complete with `status` instead.
void fail_message(ibv_wc_status status, std::uint32_t vendor_error = 0, int times = 1);
/// Moves a queue pair to the error state, as a lost link does: all that is posted is flushed.
void break_queue_pair(std::uint32_t number);

/// What goes to or comes from a fake GPU's memory over the wire gets lost on the way, and every
/// completion says success: a mapping that registers and does not work.
void lose_gpu_bytes(bool lose);

/// The same for what goes by a dma-buf that the fake GPU exported in this mapping alone, "default"
/// or "pcie"; "" for none.
void lose_bytes_of_mapping(const std::string& mapping);

/// What comes into a fake GPU's memory over the wire is not to be seen there until a NIC reads from
/// such memory, as where a GPU orders no writes: held back until then.
void hold_gpu_writes(bool hold);
/// No write is to be seen at its target before a flush, as where a device keeps them for a while.
void hold_writes(bool hold);
/// RDMA reads whose source was a fake GPU's memory, since reset().
int gpu_reads();

/// What ibv_wr_flush() does: see flush.h.
void post_flush(ibv_qp_ex* queue, std::uint32_t key, std::uint64_t address, std::size_t length,
                std::uint8_t type, std::uint8_t level);

/// An asynchronous event of every context. `number`: of the queue pair or the port that it is
/// about. After IBV_EVENT_DEVICE_FATAL nothing is carried out any more, and nothing completes.
void report(ibv_event_type type, std::uint32_t number = 1);

/// Loses the next message: over UC and UD its send completes all the same.
void lose_message();

/// The next event of type `instead_of` of the connection manager becomes another one; or none at
/// all where `type` is the same and `status` is kSilence.
void manager_answers(rdma_cm_event_type instead_of, rdma_cm_event_type type, int status);
inline constexpr int kSilence = 12345;
/// The device that rdma_cm finds for every address; "" = the one with that GID.
void route_by(const std::string& device);
/// The device and port by which a connect request arrives; "" = those that the server listens on.
void arrive_by(const std::string& device, std::uint8_t port = 1);

/// What the last ibv_modify_qp() calls gave a living queue pair, and its state.
ibv_qp_attr attributes(std::uint32_t number);

/// The lkeys of the receives that are posted to a living queue pair, each once.
std::set<std::uint32_t> receive_keys(std::uint32_t number);

/// How a living region was registered.
struct RegionFacts {
  int access;            ///< ibv_access_flags, as they came
  int dma_buf = -1;      ///< the descriptor; -1 for ibv_reg_mr()
  std::uint64_t offset;  ///< in the dma-buf
};
RegionFacts region(std::uint32_t local_key);
/// What the address handle of a UD send says.
ibv_ah_attr address_vector(ibv_ah* handle);
/// The UDP source ports of the living address handles of RoCE, as libmlx5 chooses them: by the flow
/// label, and where that is 0 another one each time.
std::multiset<std::uint16_t> source_ports();
/// The completion vectors of the living completion queues.
std::multiset<int> vectors();

/// Objects that are alive: device lists, contexts, domains, regions, queues.
int live();
/// Wrong uses: a parent destroyed before its child, an overrun completion queue, ...
std::vector<std::string> violations();

}  // namespace rdmabench::inline v1::fake_verbs
