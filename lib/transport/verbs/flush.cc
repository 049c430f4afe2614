#include "transport/verbs/flush.h"

#include <fmt/format.h>

#include <cstdlib>
#include <thread>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "verbs/completion.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

namespace ibv = rdmabench::verbs;

constexpr auto kLongestRead = std::chrono::seconds(2);

}  // namespace

FlushRead::FlushRead(ibv_context& context, ibv_pd& domain, ibv::ConnectionAttributes to_itself)
    : completions_(context, {}),
      region_(ibv::register_memory(domain, landing_, ibv::Access::local)),
      queue_pair_(ibv::create_queue_pair(domain, {.send_completions = completions_.sends(),
                                                  .receive_completions = completions_.receives()})
                      .queue_pair) {
  to_itself.remote_qpn = queue_pair_->qp_num;
  to_itself.reads_out = to_itself.reads_in = 1;
  ibv::initialize(*queue_pair_, to_itself.port, to_itself.path.partition_index);
  ibv::connect(*queue_pair_, to_itself);
}

ibv_wc FlushRead::wait() {
  const Deadline deadline = Deadline::after(kLongestRead);
  for (;;) {
    ibv_wc completion{};
    const int count = ibv_poll_cq(completions_.sends(), 1, &completion);
    if (count > 0) return completion;
    if (count < 0) {
      throw Error(Fault::failed, "ibv_poll_cq(of the read that flushes)", "", std::abs(count));
    }
    if (deadline.passed()) {
      throw Error(Fault::failed, "the NIC's read of GPU memory, which flushes it, did not complete",
                  "Take `memory` host to see whether the path itself works.");
    }
    std::this_thread::yield();
  }
}

void FlushRead::read(std::uint64_t address, std::uint32_t remote_key) {
  ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(landing_.data()),
                .length = 1,
                .lkey = region_->lkey};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = address;
  request.wr.rdma.rkey = remote_key;
  ibv_send_wr* refused = nullptr;
  if (const int code = ibv_post_send(queue_pair_.get(), &request, &refused); code != 0) {
    throw Error(Fault::failed, "ibv_post_send(the read that flushes GPU memory)", "", code);
  }
  if (const ibv_wc completion = wait(); completion.status != IBV_WC_SUCCESS) {
    throw Error(Fault::failed,
                fmt::format("the read that flushes GPU memory: {}", ibv::to_text(completion)));
  }
}

}  // namespace rdmabench::inline v1::transport::verbs
