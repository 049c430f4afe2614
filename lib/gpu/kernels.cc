#include "gpu/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "context_access.h"
#include "gpu/copy.h"
#include "gpu/cuda_error.h"
#include "kernels_ptx.h"

namespace rdmabench::inline v1::gpu {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMostBlocksY = 65535;  ///< of every GPU
constexpr std::uint64_t kBytesOfThread = 16;
constexpr unsigned kBlocksOfMultiprocessor = 16;
constexpr std::uint64_t kNone = ~std::uint64_t{0};  ///< the result where nothing is wrong

struct Grid {
  unsigned x;
  unsigned y;
  unsigned threads;  ///< of a block
};

/// Enough blocks for all multiprocessors.
std::uint64_t most_blocks(const DeviceInfo& device) {
  return static_cast<std::uint64_t>(std::max(device.multiprocessors, 1)) * kBlocksOfMultiprocessor;
}

/// ... but no more threads than there is work.
Grid grid_for(const DeviceInfo& device, std::uint64_t bytes, std::uint64_t messages) {
  const std::uint64_t most = most_blocks(device);
  const unsigned threads = bytes <= kWarp * kBytesOfThread ? kWarp : kThreads;
  const std::uint64_t useful = bytes / (threads * kBytesOfThread) + 1;
  return {static_cast<unsigned>(std::min(useful, most)),
          static_cast<unsigned>(std::min(messages, kMostBlocksY)), threads};
}

void require_apart(const Slots& slots) {
  if (slots.count <= 1 || slots.stride >= slots.size) return;
  throw Error(Fault::usage,
              fmt::format("invalid stride {} of messages of {} bytes", slots.stride, slots.size),
              "The stride must be at least the size, so that messages do not overlap");
}

bool is_empty(const Slots& slots) {
  return slots.size == 0 || slots.count == 0;
}

}  // namespace

/// Owns a module of a context.
class Kernels::Module {
 public:
  explicit Module(Context context) : context_(std::move(context)) {
    const CurrentContext current(context_);
    check(context_.driver(), context_.driver().module_load_data(&module_, kKernelsPtx),
          fmt::format("cuModuleLoadData(kernels, on {})", to_text(context_.device())));
  }
  ~Module() {
    free_in(context_, [this](const Driver& driver) { driver.module_unload(module_); });
  }
  Module& operator=(Module&&) = delete;

  CUfunc_st* find(const char* name) const {
    const CurrentContext current(context_);
    CUfunc_st* function = nullptr;
    check(context_.driver(), context_.driver().module_get_function(&function, module_, name),
          fmt::format("cuModuleGetFunction({})", name));
    return function;
  }

 private:
  Context context_;
  CUmod_st* module_ = nullptr;
};

struct Kernels::State {
  explicit State(const Context& of)
      : context(of), module(of), scratch(of, sizeof kNone), answer(of, sizeof kNone) {}

  /// `arguments` are in the order of the kernel's parameters.
  template <class... Arguments>
  void launch(Stream& stream, CUfunc_st* function, const char* name, Grid grid,
              Arguments... arguments) const {
    void* pointers[] = {&arguments...};
    const CurrentContext current(context);
    const Driver& driver = context.driver();
    const cuda::Result result = driver.launch_kernel(function, grid.x, grid.y, 1, grid.threads, 1,
                                                     1, 0, stream.get(), pointers, nullptr);
    if (result == cuda::kSuccess) return;
    throw cuda_error(driver, result,
                     fmt::format("cuLaunchKernel({}, {} x {} blocks of {} threads)", name, grid.x,
                                 grid.y, grid.threads));
  }

  void fill_slots(Stream& stream, const Slots& slots, int tag) const {
    launch(stream, fill, "rdmabench_fill", grid_for(context.device(), slots.size, slots.count),
           slots.data, slots.size, slots.stride, slots.count, slots.first, tag);
  }

  void visit_tiles(Stream& stream, CUfunc_st* function, const char* name,
                   const TileTable& table) const {
    Grid grid = grid_for(context.device(), table.widest, table.count);
    const std::uint64_t share = std::max<std::uint64_t>(1, most_blocks(context.device()) / grid.y);
    grid.x = static_cast<unsigned>(std::min<std::uint64_t>(grid.x, share));
    launch(stream, function, name, grid, table.rows, table.count, std::uint64_t{table.element});
  }

  /// slot * size + offset; nothing if all bytes are right.
  std::optional<std::uint64_t> find_in(Stream& stream, const Slots& slots, int tag,
                                       const Deadline& deadline) {
    enqueue_set(stream, scratch.data(), std::byte{0xff}, sizeof kNone);
    launch(stream, find_mismatch, "rdmabench_find_mismatch",
           grid_for(context.device(), slots.size, slots.count), slots.data, slots.size,
           slots.stride, slots.count, slots.first, tag, scratch.data());
    enqueue_copy_from_device(stream, answer, scratch.data(), sizeof kNone);
    stream.synchronize(deadline, "the check of received messages in GPU memory");
    std::uint64_t first = 0;
    std::memcpy(&first, answer.data(), sizeof first);
    if (first == kNone) return std::nullopt;
    return first;
  }

  Context context;
  Module module;
  Allocation scratch;
  PinnedHost answer;
  CUfunc_st* fill = module.find("rdmabench_fill");
  CUfunc_st* find_mismatch = module.find("rdmabench_find_mismatch");
  CUfunc_st* write_tiles = module.find("rdmabench_write_tiles");
  CUfunc_st* compare_tiles = module.find("rdmabench_compare_tiles");
};

Kernels::Kernels(const Context& context) : state_(std::make_unique<State>(context)) {}
Kernels::~Kernels() = default;

void Kernels::fill_pattern(Stream& stream, DevicePointer data, std::uint64_t bytes,
                           std::uint8_t tag) {
  const Slots one{.data = data, .size = bytes, .stride = bytes};
  if (!is_empty(one)) state_->fill_slots(stream, one, tag);
}

void Kernels::fill_pattern(Stream& stream, const Slots& slots) {
  require_apart(slots);
  if (!is_empty(slots)) state_->fill_slots(stream, slots, -1);
}

void Kernels::write_tiles(Stream& stream, const TileTable& table) {
  if (table.count == 0) return;
  state_->visit_tiles(stream, state_->write_tiles, "rdmabench_write_tiles", table);
}

void Kernels::compare_tiles(Stream& stream, const TileTable& table) {
  if (table.count == 0) return;
  state_->visit_tiles(stream, state_->compare_tiles, "rdmabench_compare_tiles", table);
}

std::optional<std::uint64_t> Kernels::find_mismatch(Stream& stream, DevicePointer data,
                                                    std::uint64_t bytes, std::uint8_t tag,
                                                    const Deadline& deadline) {
  const Slots one{.data = data, .size = bytes, .stride = bytes};
  if (is_empty(one)) return std::nullopt;
  return state_->find_in(stream, one, tag, deadline);
}

std::optional<Mismatch> Kernels::find_mismatch(Stream& stream, const Slots& slots,
                                               const Deadline& deadline) {
  require_apart(slots);
  if (is_empty(slots)) return std::nullopt;
  const auto at = state_->find_in(stream, slots, -1, deadline);
  if (!at) return std::nullopt;
  return Mismatch{*at / slots.size, *at % slots.size};
}

}  // namespace rdmabench::inline v1::gpu
