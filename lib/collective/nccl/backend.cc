#include "backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "device_choice.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

static_assert(Backend<NcclBackend>);

constexpr std::uint32_t kPollsBetweenChecks = 64;
constexpr auto kAbortedStreamWait = std::chrono::seconds(1);
constexpr auto kPauseOfOnce = std::chrono::microseconds(50);

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && std::string_view(value) != "0" && *value != '\0';
}

}  // namespace

NcclBackend::~NcclBackend() {
  if (communicator_ && communicator_->get() != nullptr) abort();
  if (!aborted_) return;
  // Work on the stream normally ends with the communicator; if not, the memory is left to the end
  // of the process.
  bool ended = false;
  try {
    if (stream_) stream_->synchronize(Deadline::after(kAbortedStreamWait));
    ended = true;
  } catch (...) {
  }
  if (!ended) {
    if (send_) send_->leave();
    if (receive_) receive_->leave();
  }
}

void NcclBackend::choose_device(Team team, Exchange& exchange, Deadline deadline) {
  const auto gather = [&](const RankInfo& mine) {
    std::vector<RankInfo> ranks;
    for (const std::string& text : exchange.all_gather(to_text(mine), deadline)) {
      ranks.push_back(parse_rank_info(text));
    }
    return ranks;
  };
  RankInfo mine = this_rank();
  const std::uint32_t local = local_rank(gather(mine), team.rank);
  const gpu::DeviceInfo device = options_.device.empty() ? device_of(local, gpu::devices())
                                                         : gpu::find_device(options_.device);
  mine.pci = device.pci_address;
  constexpr int kHasSharing = version_code(2, 30, 3);
  check_distinct(gather(mine),
                 library_->version >= kHasSharing && is_set("NCCL_MULTI_RANK_GPU_ENABLE"));
  context_.emplace(device.ordinal);
}

void NcclBackend::load() {
  if (library_ != nullptr) return;
  library_ = &library();
  log_.emplace(home_of_settings(library_->version));
  static_cast<void>(gpu::devices());  // cuInit(): a driver without persistence mode wakes every GPU
}

void NcclBackend::open(Team team, Exchange& exchange, Deadline deadline) {
  team_ = team;
  exchange_ = &exchange;
  const Moment moment = context_ ? Moment::later : Moment::begin;
  if (moment == Moment::begin) {
    load();
    choose_device(team, exchange, deadline);
    context_->make_current();
    stream_.emplace(*context_);
    contents_.emplace(*stream_,
                      [this](const Stretch& one) { return base(one.side, one.slot) + one.offset; });
    profiler_.emplace(library_->version, team.rank);
  } else {
    close(deadline);
  }
  communicator_.emplace(*library_);
  {
    const LentSettings log = log_->lend();
    const LentSettings plugin = profiler_->lend();
    communicator_->join(team, exchange, options_, moment, deadline.earlier());
  }
  meet_profilers(deadline);
  send_ = std::make_unique<Arena>(*communicator_, *context_, options_.registration);
  receive_ = std::make_unique<Arena>(*communicator_, *context_, options_.registration);
}

std::string NcclBackend::unsupported(const Call& call, std::uint32_t ranks) const {
  const gpu::DeviceInfo& device = context_->device();
  return nccl::unsupported(call, ranks, library_->version, device.major * 10 + device.minor);
}

Layout NcclBackend::layout(const Call& call) const {
  return nccl_layout(call, team_);
}

void NcclBackend::drop_op() noexcept {
  if (made_op_ && communicator_ && communicator_->get() != nullptr) {
    library_->red_op_destroy(plan_.op, communicator_->get());
  }
  made_op_ = false;
}

void NcclBackend::make_op(const Call& call, Deadline deadline) {
  drop_op();
  RedOp op = red_op_of(call.reduction);
  const bool scaled = reduces(call.operation) && call.reduction == Reduction::mulsum;
  if (scaled) {
    std::uint64_t scalar = scalar_bits(call.type, mulsum_scalar(team_.rank));
    communicator_->complete(
        library_->red_op_create_pre_mul_sum(&op, &scalar, type_of(call.type), kScalarHostImmediate,
                                            communicator_->get()),
        "ncclRedOpCreatePreMulSum", deadline);
  }
  plan_ = make_call_plan(call, team_, op);
  made_op_ = scaled;
}

void NcclBackend::prepare(const Call& call, std::uint32_t slots, std::uint32_t batch,
                          Deadline deadline) {
  graphs_.clear();
  slots_ = slots;
  in_graph_ = options_.graph_operations == 0 ? batch : std::min(batch, options_.graph_operations);
  make_op(call, deadline);
  layout_ = layout(call);
  // Symmetric registration needs the same size on all ranks, also on those without an input or a
  // result.
  std::uint64_t sent = layout_.in_place ? 0 : layout_.send_bytes;
  std::uint64_t received = layout_.in_place ? layout_.buffer_bytes() : layout_.receive_bytes;
  for (std::uint32_t rank = 0;
       options_.registration == Registration::symmetric && rank < team_.size; ++rank) {
    const Layout other = nccl_layout(call, {rank, team_.size});
    sent = std::max(sent, other.in_place ? 0 : other.send_bytes);
    received = std::max(received, other.in_place ? other.buffer_bytes() : other.receive_bytes);
  }
  const std::uint64_t off = std::uint64_t{options_.misalign} * bytes_of(call.type);
  send_->reserve(sent + off, slots, *stream_, deadline);
  receive_->reserve(received + off + kGuardBytes, slots, *stream_, deadline);
  waiting_.reserve(std::max(slots, batch));
  if (options_.graph) connect(deadline);
  ask_choice(deadline);
  if (options_.graph) capture(std::max(slots / in_graph_, 1U), in_graph_, deadline);
}

/// Plain calls before the first one that is captured: in its first call of a kind NCCL connects the
/// ranks and allocates memory, which a capture may not allow.
void NcclBackend::connect(Deadline deadline) {
  exchange_->all_gather({}, deadline);  // the deadline starts when all ranks are here
  for (std::uint32_t i = 0; i < options_.plain_calls; ++i) run_once(deadline.earlier());
}

/// Either all ranks make the call that NCCL reports to the profiler, or none.
void NcclBackend::meet_profilers(Deadline deadline) {
  const std::vector<std::string> all = exchange_->all_gather(profiler_->unavailable(), deadline);
  silent_ = all[team_.rank];
  for (std::uint32_t rank = 0; silent_.empty() && rank < team_.size; ++rank) {
    if (all[rank].empty()) continue;
    silent_ = fmt::format("rank {}: {}", rank, ascii_only(all[rank], 400));
  }
}

/// One untimed call, before the inputs are written, that NCCL reports to the profiler.
void NcclBackend::ask_choice(Deadline deadline) {
  choice_.clear();
  if (!silent_.empty()) return;
  exchange_->all_gather({}, deadline);  // the deadline starts when all ranks are here
  profiler_->listen();
  try {
    // A separate graph: NCCL reports a graph that was captured while it listens whenever it runs.
    if (options_.graph) capture(1, 1, deadline);
    run_once(deadline.earlier());
  } catch (...) {
    profiler_->stop();
    throw;
  }
  const Choice mine = profiler_->stop();
  graphs_.clear();
  choice_ = to_facts(mine);
  const std::vector<std::string> all = exchange_->all_gather(to_text(mine), deadline);
  for (std::uint32_t rank = 1; rank < team_.size; ++rank) {
    if (all[rank] == all[0]) continue;
    choice_.push_back(
        {"algorithm_differs", fmt::format("rank {}: {}", rank, ascii_only(all[rank], 100))});
    return;
  }
}

void NcclBackend::run_once(Deadline deadline) {
  bool good = start(0, 1);
  for (Progress now = Progress::again; good && now != Progress::done;) {
    now = test();
    good = now != Progress::failed;
    if (now == Progress::again && deadline.passed()) {
      throw Error(Fault::failed,
                  fmt::format("the first call of {}, before timing, did not finish in time",
                              call_name(*library_, plan_.call.operation)),
                  "Give a longer `timeout`.");
    }
    if (now == Progress::again) std::this_thread::sleep_for(kPauseOfOnce);
  }
  if (!good) throw Error(Fault::failed, failure());
}

/// Many operations are one graph, as nccl-tests has its iterations.
void NcclBackend::capture(std::uint32_t graphs, std::uint32_t batch, Deadline deadline) {
  for (std::uint32_t graph = 0; graph < graphs; ++graph) {
    graphs_.push_back(gpu::Graph::capture(*stream_, [&](gpu::Stream& /*stream*/) {
      for (std::uint32_t i = 0; i < batch; ++i) {
        communicator_->complete(launch_slot((graph * batch + i) % slots_),
                                call_name(*library_, plan_.call.operation) + " in a CUDA graph",
                                deadline);
      }
    }));
  }
}

gpu::DevicePointer NcclBackend::base(SlotBuffer side, std::uint32_t slot) const noexcept {
  const Arena& arena = side == SlotBuffer::send && !layout_.in_place ? *send_ : *receive_;
  return arena.slot(slot) + options_.misalign * plan_.element;
}

void NcclBackend::write(std::span<const Stretch> stretches, Deadline deadline) {
  contents_->write(stretches, bytes_of(plan_.call.type), deadline);
}

std::vector<std::size_t> NcclBackend::find_different(std::span<const Stretch> stretches,
                                                     Deadline deadline) {
  return contents_->find_different(stretches, bytes_of(plan_.call.type), deadline);
}

void NcclBackend::read(SlotBuffer side, std::uint32_t slot, std::uint64_t offset,
                       std::span<std::byte> to, Deadline deadline) {
  contents_->read(base(side, slot) + offset, to, deadline);
}

bool NcclBackend::fail(Failure::Of of, Result result) noexcept {
  if (failure_.of == Failure::Of::none) failure_ = {of, result};
  return false;
}

Result NcclBackend::launch_slot(std::uint32_t slot) noexcept {
  Comm* const comm = communicator_->get();
  if (comm == nullptr) return kInvalidUsage;  // aborted in the meantime
  return launch(*library_, comm, stream_->get(), plan_,
                base(SlotBuffer::send, slot) + layout_.send_offset,
                base(SlotBuffer::receive, slot) + layout_.receive_offset);
}

bool NcclBackend::hand_over(std::uint32_t slot) noexcept {
  const Result result = launch_slot(slot);
  in_progress_ = result == kInProgress;
  return in_progress_ || result == kSuccess || fail(Failure::Of::call, result);
}

bool NcclBackend::start(std::uint32_t slot, std::uint32_t batch) noexcept {
  if (!graphs_.empty()) {
    if (failure_.of != Failure::Of::none) return false;
    std::size_t next = slot / in_graph_;
    for (std::uint32_t begun = 0; begun < batch; begun += in_graph_) {
      gpu::Graph& graph = graphs_[next];
      if (!graph.launch(*stream_)) return fail(Failure::Of::graph, graph.result());
      next = next + 1 == graphs_.size() ? 0 : next + 1;
    }
    return true;
  }
  for (std::uint32_t i = 0; i < batch; ++i) {
    if (!start_one(slot)) return false;
    slot = slot + 1 == slots_ ? 0 : slot + 1;
  }
  return true;
}

bool NcclBackend::start_one(std::uint32_t slot) noexcept {
  if (failure_.of != Failure::Of::none) return false;
  if (!in_progress_) return hand_over(slot);
  if (waiting_.size() == waiting_.capacity()) return fail(Failure::Of::call, kInvalidUsage);
  waiting_.push_back(slot);  // within what prepare() reserved
  return true;
}

bool NcclBackend::hand_over_waiting() noexcept {
  while (first_waiting_ < waiting_.size() && !in_progress_) {
    if (!hand_over(waiting_[first_waiting_++])) return false;
  }
  if (first_waiting_ == waiting_.size()) {
    waiting_.clear();
    first_waiting_ = 0;
  }
  return true;
}

Progress NcclBackend::test() noexcept {
  if (failure_.of != Failure::Of::none) return Progress::failed;
  if (in_progress_) {
    const Result state = communicator_->state();
    if (state == kInProgress) return Progress::again;
    in_progress_ = false;
    if (state != kSuccess) {
      fail(Failure::Of::call, state);
      return Progress::failed;
    }
    if (!hand_over_waiting()) return Progress::failed;
    if (in_progress_) return Progress::again;
  }
  switch (stream_->poll()) {
    case gpu::Progress::done:
      empty_polls_ = 0;
      return Progress::done;
    case gpu::Progress::failed:
      fail(Failure::Of::stream, 0);
      return Progress::failed;
    case gpu::Progress::busy:
      break;
  }
  // Only the communicator reports errors of peers and of the network.
  if (++empty_polls_ % kPollsBetweenChecks != 0) return Progress::again;
  const Result state = communicator_->state();
  if (state == kSuccess || state == kInProgress) return Progress::again;
  fail(Failure::Of::communicator, state);
  return Progress::failed;
}

std::string NcclBackend::failure() const {
  const std::string call =
      library_ == nullptr ? "NCCL" : call_name(*library_, plan_.call.operation);
  switch (failure_.of) {
    case Failure::Of::none:
      return "";
    case Failure::Of::call:
      return fmt::format("{} gave {}", call,
                         result_text(*library_, failure_.result, communicator_->get()));
    case Failure::Of::communicator:
      return fmt::format("during {} the communicator reported {}", call,
                         result_text(*library_, failure_.result, communicator_->get()));
    case Failure::Of::stream:
      return stream_->failure(call).what();
    case Failure::Of::graph:
      return fmt::format("launching the CUDA graph of {} gave CUresult {}", call, failure_.result);
  }
  return "";
}

void NcclBackend::abort() noexcept {
  aborted_ = true;
  graphs_.clear();  // NCCL would wait for them
  if (communicator_) communicator_->abort();
}

void NcclBackend::close(Deadline deadline) {
  graphs_.clear();
  drop_op();
  send_.reset();
  receive_.reset();
  communicator_->destroy(deadline);
}

report::Facts NcclBackend::facts() const {
  report::Facts facts{{"library", "NCCL " + version_text(library_->version)},
                      {"library_file", library_->path},
                      {"gpu_name", context_->device().name},
                      {"gpu_ordinal", static_cast<std::uint64_t>(context_->device().ordinal)},
                      {"gpu_pci", context_->device().pci_address},
                      {"memory", fmt::format("cuda:{}", context_->device().ordinal)},
                      {"buffers", library_->mem_alloc != nullptr ? "ncclMemAlloc" : "cuMemAlloc"},
                      {"registration", std::string(name(options_.registration))},
                      {"cuda_graph", options_.graph},
                      {"communicator", options_.non_blocking ? "non-blocking" : "blocking"}};
  if (const std::string& why = contents_->no_kernels(); !why.empty()) {
    facts.push_back({"kernels_unavailable", why});
  }
  for (report::Fact& fact : log_->facts()) {
    // The connections depend on the call.
    if (fact.name == "network" || fact.name == "network_unknown" ||
        fact.name.rfind("net_plugin", 0) == 0) {
      facts.push_back(std::move(fact));
    }
  }
  return facts;
}

report::Facts NcclBackend::call_facts() const {
  report::Facts facts{{"call", call_name(*library_, plan_.call.operation)}};
  facts.insert(facts.end(), choice_.begin(), choice_.end());
  if (!silent_.empty()) facts.push_back({"algorithm_unknown", silent_});
  for (report::Fact& fact : log_->facts()) {
    if (fact.name.rfind("network", 0) == 0 || fact.name.rfind("net_plugin", 0) == 0) continue;
    facts.push_back(std::move(fact));
  }
  return facts;
}

}  // namespace rdmabench::inline v1::collective::nccl

namespace rdmabench::inline v1::collective {

std::shared_ptr<Engine> make_nccl_engine(NcclOptions options) {
  return make_engine<nccl::NcclBackend>(std::move(options));
}

}  // namespace rdmabench::inline v1::collective
