// A libfabric.so.1 for tests: providers that need a device (efa, opx, cxi, ...), as their sources
// say that they behave, over the real libfabric's TCP provider on 127.0.0.1.
//
// Without providers it is the real library: every call is passed on. With them fi_getinfo(3)
// answers with these alone, in this order, and what is opened from their entries carries real
// messages, except where a member of Provider says otherwise. A new behaviour is one member of
// Provider with its default "as the real one", one line where it is applied (fake_fabric.cc for
// entries, options and registration; operations.cc for operations), and the profile of the release
// that has it, below.
//
// A test program that has it sets RDMABENCH_FAKE_FABRIC_DIR as BUILD_RPATH (see
// tests/unit/transport_ofi/CMakeLists.txt), so that lib/loaded finds it before the system's; or
// puts the folder on LD_LIBRARY_PATH. Thread rule: providers are set while nothing is open.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "loaded/library.h"

namespace rdmabench::inline v1::fake_fabric {

/// The numbers of options newer than the oldest headers that this is built with (fi_endpoint.h of
/// 1.22, fi_ext.h of 1.18).
enum Option : int {
  kSharedMemoryPermitted = 11,
  kMaxMsgSize = 12,
  kMaxRmaSize = 14,
  kInjectMsgSize = 16,
  kInjectRmaSize = 18,
};

/// What a function of an endpoint does.
enum class Function : std::uint8_t {
  works,          ///< passed on to the real provider
  missing,        ///< null in the table: libfabric's inline function calls it all the same
  not_supported,  ///< -FI_ENOSYS, as libfabric's fi_no_...()
};

/// What becomes of FI_REMOTE_CQ_DATA in fi_writemsg(3).
enum class RemoteData : std::uint8_t {
  arrives,
  refused,  ///< -FI_EBADFLAGS
  ignored,  ///< the data is written, and the target hears nothing
};

struct Provider {
  // -- its entry of fi_getinfo(3)
  std::string name;
  std::string fabric;
  std::string domain;
  std::uint32_t addr_format = FI_ADDR_EFA;  ///< FI_SOCKADDR_IN: with the real address
  std::uint64_t lacks_caps = FI_ATOMIC;     ///< hints with any of these get no entry; see also hmem
  bool hmem = false;                        ///< has FI_HMEM
  bool refuses_peer_to_peer = false;        ///< FI_HMEM_P2P_REQUIRED: -FI_EOPNOTSUPP
  std::uint64_t mode = 0;                   ///< hints without these get no entry
  std::size_t max_msg_size = SIZE_MAX;
  std::size_t largest_send = SIZE_MAX;  ///< -FI_EMSGSIZE above it; max_msg_size without FI_RMA
  std::size_t cq_data_size = 4;
  std::size_t key_bytes = 0;  ///< of a memory key; 0: as the real one
  std::size_t inject_size = 64;
  bool reads_dma_buf =
      false;  ///< else FI_MR_DMABUF is not looked at, and it registers all the same
  std::size_t tx_size = 256;
  std::size_t rx_size = 256;
  bool has_delivery = true;              ///< hints with FI_DELIVERY_COMPLETE get an entry
  std::uint32_t newest_interface = ~0U;  ///< who asks for a newer one gets no entry
  std::string device = {};               ///< the NIC's name; "": the entry says nothing of a NIC
  std::string pci = {};                  ///< "0000:1b:00.0"; "": not told
  std::size_t mtu = 0;                   ///< bytes
  std::size_t link_speed = 0;            ///< bit/s

  // -- its endpoints
  std::map<int, std::size_t> sizes = {};  ///< what fi_getopt(3) answers; others: -FI_ENOPROTOOPT
  std::map<int, bool> facts = {};         ///< likewise, of options that are a bool
  std::set<int> settable = {};            ///< options that fi_setopt(3) takes
  bool queue_fails = false;               ///< each fi_cq_read(3): an error is there to be read
  bool close_waits = false;               ///< fi_close(3) of an endpoint waits for State::closes
  int receives_refused = 0;               ///< fi_recv(3) says -FI_EAGAIN so many times first
  Function inject_writedata = Function::works;
  Function senddata = Function::works;
  Function injectdata = Function::works;
  RemoteData remote_data = RemoteData::arrives;
};

/// Operations accepted by endpoints of `providers`, for tests that ask which way a message went.
struct Calls {
  std::atomic<int> inject = 0;
  std::atomic<int> injectdata = 0;
  std::atomic<int> inject_writedata = 0;
  std::atomic<int> writemsg = 0;
  std::atomic<int> dirty = 0;            ///< fi_mr_attr with something behind what 1.17 has of it
  std::atomic<int> unknown_options = 0;  ///< asked by fi_getopt(3): efa prints a warning
  std::atomic<int> misread_dma_buf = 0;  ///< registrations of what the flag was not looked at for
  std::atomic<int> borrowed = 0;  ///< hints with a fabric or domain that may be closed meanwhile
};

struct State {
  std::vector<Provider> providers;
  std::uint32_t version = 0;  ///< what fi_version(3) says; 0: the real library's
  std::uint32_t asked = 0;    ///< the interface that fi_getinfo(3) was last asked for
  std::string rxm_receives;   ///< FI_OFI_RXM_MSG_RX_SIZE at the first fi_getinfo(3)
  std::mutex mutex;           ///< of what follows, of which `changed` tells
  std::condition_variable changed;
  bool closes = true;
  bool names = true;          ///< fi_getname(3) works
  std::thread::id closed_by;  ///< of the last endpoint with `close_waits`
  int closed = 0;  ///< fabrics of providers with `close_waits`: what is in them went before
  Calls calls;
};

/// Of the fake that lib/loaded has loaded. Throws Error where that is not the fake.
inline State& state() {
  return *reinterpret_cast<State* (*)()>(loaded::fabric.function("rdmabench_fake_fabric"))();
}

/// For the life of a test: these providers, in a library of that version if one is given, and the
/// counts start at 0.
class Providers {
 public:
  explicit Providers(std::vector<Provider> providers, std::uint32_t version = 0) {
    state().providers = std::move(providers);
    state().version = version;
    Calls& calls = state().calls;
    calls.inject = calls.injectdata = calls.inject_writedata = calls.writemsg = 0;
    calls.dirty = calls.misread_dma_buf = calls.borrowed = calls.unknown_options = 0;
  }
  ~Providers() {
    state().providers.clear();
    state().version = 0;
  }
  Providers(const Providers&) = delete;
  Providers& operator=(const Providers&) = delete;
};

// -- profiles: a provider as the sources of a release have it

/// efa.
inline Provider efa() {
  Provider p{.name = "efa", .fabric = "efa", .domain = "rdmap0s29-rdm"};
  p.device = "rdmap0s29";
  p.pci = "0000:00:1d.0";
  p.mtu = 8928;
  p.inject_size = 3000;
  p.settable = {kSharedMemoryPermitted, FI_OPT_FI_HMEM_P2P};
  p.tx_size = 4096;
  p.rx_size = 8192;
  p.hmem = p.reads_dma_buf = true;
  p.sizes = {{kMaxMsgSize, SIZE_MAX}, {kInjectMsgSize, 3000}, {kInjectRmaSize, 3000}};
  return p;
}

/// efa as of a release: which of these options it knows (efa_rdm_ep_getopt()).
inline Provider efa_of(std::uint32_t release) {
  Provider p = efa();
  if (release < FI_VERSION(1, 22)) p.sizes.erase(kInjectMsgSize);
  if (release < FI_VERSION(2, 0)) p.sizes.erase(kInjectRmaSize);
  constexpr int kEmulated = -(0xefa << 16);  // FI_OPT_EFA_EMULATED_READ, ..._WRITE, ..._ATOMICS
  for (const int number : {1, 2, 3}) p.facts[kEmulated + number] = false;
  return p;
}

/// efa's fabric efa-direct as of 2.1 to 2.4, which comes before efa: no injected writes, sends of
/// one packet alone, no shared memory behind the option that permits it, and max_msg_size is a
/// write's unless the hints have no FI_RMA (efa_rma_ops, efa_ep_getopt(),
/// efa_user_info_alter_direct()).
inline Provider efa_direct() {
  constexpr std::size_t kMtu = 8928;
  Provider p = efa();
  p.fabric = "efa-direct";
  p.lacks_caps = FI_ATOMIC | FI_TAGGED | FI_DIRECTED_RECV;
  p.mode = FI_CONTEXT2;
  p.max_msg_size = std::size_t{1} << 30;
  p.inject_size = 32;
  p.largest_send = kMtu;
  p.sizes = {{kMaxMsgSize, kMtu},
             {kMaxRmaSize, p.max_msg_size},
             {kInjectMsgSize, 32},
             {kInjectRmaSize, 0}};
  p.inject_writedata = Function::not_supported;
  return p;
}

/// The kernel's TCP, as it is.
inline Provider tcp() {
  Provider p{.name = "tcp", .fabric = "127.0.0.0/8", .domain = "lo"};
  p.addr_format = FI_SOCKADDR_IN;
  p.cq_data_size = 8;
  return p;
}

/// verbs under ofi_rxm, which takes FI_DELIVERY_COMPLETE; verbs itself does not (verbs_info.c).
inline Provider verbs_rxm() {
  Provider p{.name = "verbs;ofi_rxm", .fabric = "IB-0xfe80000000000000", .domain = "mlx5_0"};
  p.addr_format = FI_SOCKADDR_IB;
  p.hmem = p.reads_dma_buf = true;
  return p;
}

/// opx: its table of one-sided operations has no injectdata (fi_opx_rma.c, 2.1 to 2.6).
inline Provider opx() {
  Provider p{.name = "opx", .fabric = "OPX-100", .domain = "hfi1_0"};
  p.addr_format = FI_ADDR_OPX;
  p.inject_size = 16;
  p.inject_writedata = Function::missing;
  return p;
}

/// opx up to 2.0: fi_writemsg() ignores FI_REMOTE_CQ_DATA (fi_opx_rma.c), though cq_data_size is 4.
inline Provider opx_of_1_22() {
  Provider p = opx();
  p.remote_data = RemoteData::ignored;
  return p;
}

/// cxi up to 2.4, which does not look at FI_MR_DMABUF: fi_writemsg() refuses FI_REMOTE_CQ_DATA in
/// every release (CXIP_WRITEMSG_ALLOWED_FLAGS); cq_data_size is 8, for messages. In 1.22 and 2.3 it
/// implements an older interface than the library (CXIP_FI_VERSION).
inline Provider cxi(std::uint32_t newest_interface = ~0U) {
  Provider p{.name = "cxi", .fabric = "cxi", .domain = "cxi0"};
  p.addr_format = FI_ADDR_CXI;
  p.device = "cxi0";
  p.pci = "0000:c1:00.0";
  p.cq_data_size = 8;
  p.inject_size = 192;
  p.newest_interface = newest_interface;
  p.inject_writedata = Function::not_supported;
  p.remote_data = RemoteData::refused;
  p.hmem = true;
  return p;
}

/// lpp: cq_data_size is 4, and its messages and writes carry none (lpp_ep.c, 2.1 to 2.6; its
/// writemsg() does not look at the data).
inline Provider lpp() {
  Provider p{.name = "lpp", .fabric = "lpp", .domain = "lpp0"};
  p.senddata = p.injectdata = p.inject_writedata = Function::not_supported;
  p.remote_data = RemoteData::ignored;
  return p;
}

/// lnx: "lnx" from 2.3 on, before that the names of what it links.
inline Provider lnx(const std::string& name) {
  Provider p{.name = name, .fabric = "lnx", .domain = "shm+cxi0:lnx"};
  p.addr_format = FI_ADDR_CXI;
  return p;
}

}  // namespace rdmabench::inline v1::fake_fabric
