// Makes what the NIC wrote into a GPU's memory visible there, by having the NIC read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rdmabench/verbs/handles.h"
#include "verbs/queue_pair.h"

namespace rdmabench::inline v1::transport::verbs {

/// An RC queue pair that is connected to itself and reads one byte. The request of that read goes
/// to the GPU over the same PCIe path as the posted writes before it and may not pass them (PCI
/// Express Base Specification, transaction ordering), so that once it is answered they are there.
/// NCCL flushes so too. Thread rule: one thread at a time.
class FlushRead {
 public:
  /// `to_itself` names this side's own port, GID and LID. Throws Error(failed).
  FlushRead(ibv_context& context, ibv_pd& domain, rdmabench::verbs::ConnectionAttributes to_itself);
  FlushRead& operator=(FlushRead&&) = delete;

  /// Waits two seconds at most. `remote_key` must allow reads. Throws Error(failed).
  void read(std::uint64_t address, std::uint32_t remote_key);

 private:
  ibv_wc wait();

  alignas(64) std::array<std::byte, 64> landing_{};
  rdmabench::verbs::CompletionQueues completions_;
  rdmabench::verbs::MemoryRegion region_;
  rdmabench::verbs::QueuePair queue_pair_;
};

}  // namespace rdmabench::inline v1::transport::verbs
