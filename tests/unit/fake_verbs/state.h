// What the parts of the fake share. Private to it.
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fake_verbs.h"

namespace rdmabench::fake_verbs {

struct FakeDevice : ibv_device {
  Device config;
};

struct FakeContext : verbs_context {
  std::shared_ptr<FakeDevice> device;
  int children = 0;
};

struct FakeDomain : ibv_pd {
  int children = 0;
};

struct FakeRegion : ibv_mr {
  int access = 0;
  std::uintptr_t start = 0;  ///< its first remote address: `addr` is none for a dma-buf
  int dma_buf = -1;
  std::uint64_t offset = 0;
};

struct FakeQueuePair;

struct Completion {
  ibv_wc wc;
  std::uint32_t frees;  ///< entries of the send queue that become free when it is polled
};

struct FakeCompletionQueue : ibv_cq {
  std::deque<Completion> entries;
  int users = 0;
};

struct PostedSend {
  ibv_send_wr request;
  std::vector<ibv_sge> pieces;
  std::vector<std::byte> inlined;
};

struct PostedReceive {
  std::uint64_t id;
  std::vector<ibv_sge> pieces;
};

struct FakeQueuePair : ibv_qp {
  ibv_qp_cap cap{};
  bool signal_all = false;
  ibv_qp_attr attributes{};
  std::deque<PostedSend> sends;
  std::deque<PostedReceive> receives;
  std::uint32_t sends_used = 0;   ///< entries not yet freed by a polled completion
  std::uint32_t unsignalled = 0;  ///< carried out since the last completion
};

struct State {
  std::mutex mutex;
  std::vector<Device> devices;
  std::map<Call, int> calls;
  Call fail_call{};
  int fail_after = 0;  ///< calls left until the fault; 0: none is set
  int fail_code = 0;
  bool has_struck = false;
  ibv_wc_status message_fault = IBV_WC_SUCCESS;
  std::uint32_t message_vendor_error = 0;
  int live = 0;
  std::vector<std::string> violations;
  std::uint32_t next_number = 17;
  std::map<std::uint32_t, FakeQueuePair*> queue_pairs;
  std::map<std::uint32_t, FakeRegion*> regions;  ///< by local key; the remote key is its complement
  std::map<ibv_device**, std::vector<std::shared_ptr<FakeDevice>>> lists;
};

State& state();

inline FakeContext& fake(ibv_context& context) {
  return *static_cast<FakeContext*>(verbs_get_ctx(&context));
}

/// Counts a call; an errno if it is to fail, else 0. With the mutex held.
int count(Call call);
/// The same for a call that returns a pointer: sets errno.
bool refused(Call call);

// In verbs_context.
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size);

// The data path, in ibv_context::ops. They take the mutex.
int post_send(ibv_qp* queue_pair, ibv_send_wr* request, ibv_send_wr** refused_request);
int post_receive(ibv_qp* queue_pair, ibv_recv_wr* request, ibv_recv_wr** refused_request);
int poll(ibv_cq* queue, int limit, ibv_wc* completions);

/// Flushes all that is posted. With the mutex held.
void enter_error(FakeQueuePair& queue_pair);

}  // namespace rdmabench::fake_verbs
