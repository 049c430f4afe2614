// Collectives of host memory over the launcher's MPI.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collective/mpi_module.h"
#include "rdmabench/collective/engines.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::collective {

/// One at a time in a process, because its module has one state. MPI_Init, MPI_Comm_dup and
/// MPI_Finalize block without a deadline: see Heartbeat::Guard.
class MpiBackend {
 public:
  static constexpr std::string_view kName = "mpi";

  explicit MpiBackend(MpiOptions options) : options_(std::move(options)) {}
  MpiBackend& operator=(MpiBackend&&) = delete;

  void load();
  void open(Team team, Exchange& exchange, Deadline deadline);
  std::string unsupported(const Call& call, std::uint32_t ranks) const;
  Layout layout(const Call& call) const;
  void prepare(const Call& call, std::uint32_t slots, std::uint32_t batch, Deadline deadline);
  void write(std::span<const Stretch> stretches, Deadline deadline);
  std::vector<std::size_t> find_different(std::span<const Stretch> stretches, Deadline deadline);
  void read(SlotBuffer side, std::uint32_t slot, std::uint64_t offset, std::span<std::byte> bytes,
            Deadline deadline);

  bool start(std::uint32_t slot, std::uint32_t batch) noexcept {
    for (std::uint32_t i = 0; i < batch; ++i) {
      if (module_->start(slot, buffer(SlotBuffer::send, slot), buffer(SlotBuffer::receive, slot),
                         error_.data()) != 0) {
        return false;
      }
      slot = slot + 1 == slots_ ? 0 : slot + 1;
    }
    return true;
  }
  Progress test() noexcept {
    int done = 0;
    if (module_->test(&done, error_.data()) != 0) return Progress::failed;
    return done != 0 ? Progress::done : Progress::again;
  }

  std::string failure() const { return error_.data(); }
  /// Does nothing: MPI cannot cancel a collective, and MPI_Abort ends all processes at once. The
  /// process should end without MPI_Finalize.
  void abort() noexcept {}
  void close(Deadline deadline);
  report::Facts facts() const;
  report::Facts call_facts() const;

 private:
  void initialize(Exchange& exchange, Deadline deadline);
  std::byte* buffer(SlotBuffer side, std::uint32_t slot) const noexcept {
    return buffers_[side == SlotBuffer::send && !in_place_ ? 0 : 1].data() + slot * stride_;
  }

  MpiOptions options_;
  const MpiModule* module_ = nullptr;
  std::string path_;
  std::uint32_t world_rank_ = 0;
  Team team_;
  Call call_;
  bool initialized_ = false;
  bool in_place_ = false;
  std::uint32_t slots_ = 1;
  std::uint64_t stride_ = 0;
  std::array<memory::Buffer, 2> buffers_;
  std::array<char, kErrorBytes> error_{};
};

static_assert(Backend<MpiBackend>);

}  // namespace rdmabench::inline v1::collective
