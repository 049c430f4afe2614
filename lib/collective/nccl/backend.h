// NCCL as a back end of the tester: see include/rdmabench/collective/engine.h for the contract.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buffers.h"
#include "communicator.h"
#include "contents.h"
#include "gpu/graph.h"
#include "launch.h"
#include "log.h"
#include "profiler.h"
#include "rdmabench/collective/engine.h"
#include "rdmabench/collective/engines.h"

namespace rdmabench::inline v1::collective::nccl {

/// One rank, one GPU, one stream. Thread rule: the contract's.
class NcclBackend {
 public:
  static constexpr std::string_view kName = "nccl";

  explicit NcclBackend(NcclOptions options) : options_(std::move(options)) {}
  ~NcclBackend();
  NcclBackend& operator=(NcclBackend&&) = delete;

  void load();
  void open(Team team, Exchange& exchange, Deadline deadline);
  std::string unsupported(const Call& call, std::uint32_t ranks) const;
  Layout layout(const Call& call) const;
  void prepare(const Call& call, std::uint32_t slots, std::uint32_t batch, Deadline deadline);
  void write(std::span<const Stretch> stretches, Deadline deadline);
  std::vector<std::size_t> find_different(std::span<const Stretch> stretches, Deadline deadline);
  void read(SlotBuffer side, std::uint32_t slot, std::uint64_t offset, std::span<std::byte> to,
            Deadline deadline);
  bool start(std::uint32_t slot, std::uint32_t batch) noexcept;
  Progress test() noexcept;
  std::string failure() const;
  void abort() noexcept;
  void close(Deadline deadline);
  report::Facts facts() const;
  report::Facts call_facts() const;

 private:
  /// The failure, stored without allocating.
  struct Failure {
    enum class Of : std::uint8_t { none, call, communicator, stream, graph } of = Of::none;
    Result result = kSuccess;
  };

  void choose_device(Team team, Exchange& exchange, Deadline deadline);
  void make_op(const Call& call, Deadline deadline);
  void drop_op() noexcept;
  void capture(std::uint32_t graphs, std::uint32_t batch, Deadline deadline);
  void connect(Deadline deadline);
  void meet_profilers(Deadline deadline);
  void ask_choice(Deadline deadline);
  void run_once(Deadline deadline);
  gpu::DevicePointer base(SlotBuffer side, std::uint32_t slot) const noexcept;
  Result launch_slot(std::uint32_t slot) noexcept;
  bool hand_over(std::uint32_t slot) noexcept;
  bool start_one(std::uint32_t slot) noexcept;
  bool hand_over_waiting() noexcept;
  bool fail(Failure::Of of, Result result) noexcept;

  NcclOptions options_;
  Team team_;
  std::optional<Log> log_;
  const Library* library_ = nullptr;
  std::optional<gpu::Context> context_;
  std::optional<gpu::Stream> stream_;
  std::optional<Profiler> profiler_;
  std::optional<Communicator> communicator_;
  std::unique_ptr<Arena> send_;  // after communicator_: the buffers are deregistered before it goes
  std::unique_ptr<Arena> receive_;
  std::optional<Contents> contents_;
  std::vector<gpu::Graph> graphs_;  // graph i begins in slot i * in_graph_
  std::uint32_t slots_ = 1;
  std::uint32_t in_graph_ = 1;  // operations

  CallPlan plan_;
  Layout layout_;
  bool made_op_ = false;
  std::string silent_;            // why NCCL's choices are not known, on this rank or another
  report::Facts choice_;          // of the prepared call
  Exchange* exchange_ = nullptr;  // from open()

  // While a call is in progress the communicator takes no other: these slots wait for it.
  std::vector<std::uint32_t> waiting_;
  std::size_t first_waiting_ = 0;
  bool in_progress_ = false;
  std::uint32_t empty_polls_ = 0;
  Failure failure_;
  bool aborted_ = false;
};

}  // namespace rdmabench::inline v1::collective::nccl
