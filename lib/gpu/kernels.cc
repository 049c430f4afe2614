#include "gpu/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "context_access.h"
#include "gpu/copy.h"
#include "gpu/cuda_error.h"
#include "kernels_ptx.h"

namespace rdmabench::gpu {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMostBlocksY = 65535;  ///< of every GPU
constexpr std::uint64_t kBytesOfThread = 16;
constexpr unsigned kBlocksOfMultiprocessor = 16;
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

/// `Results` of kernels.cu.
struct Results {
  std::uint64_t first;
  std::uint64_t last;
  std::uint64_t count;
  std::uint64_t sum;
};

struct Grid {
  unsigned x;
  unsigned y;
  unsigned threads;  ///< of a block
};

/// Enough blocks for all multiprocessors, but no more threads than there is work.
Grid grid_for(const DeviceInfo& device, std::uint64_t bytes, std::uint64_t messages) {
  const std::uint64_t most =
      static_cast<std::uint64_t>(std::max(device.multiprocessors, 1)) * kBlocksOfMultiprocessor;
  const unsigned threads = bytes <= kWarp * kBytesOfThread ? kWarp : kThreads;
  const std::uint64_t useful = bytes / (threads * kBytesOfThread) + 1;
  return {static_cast<unsigned>(std::min(useful, most)),
          static_cast<unsigned>(std::min(messages, kMostBlocksY)), threads};
}

std::uint64_t mix(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
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
  explicit Module(const Context& context) : context_(context) {
    const CurrentContext current(context_);
    check(context_.driver(), context_.driver().module_load_data(&module_, kKernelsPtx),
          fmt::format("cuModuleLoadData(kernels, on {})", to_text(context_.device())));
  }
  ~Module() {
    free_in(context_, [this](const Driver& driver) { driver.module_unload(module_); });
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

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
      : context(of), module(of), scratch(of, sizeof(Results)), results(of, sizeof(Results)) {}

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

  void clear(Stream& stream) const {
    enqueue_set(stream, scratch.data(), std::byte{0xff}, sizeof(Results::first));
    enqueue_set(stream, scratch.data() + sizeof(Results::first), std::byte{0},
                sizeof(Results) - sizeof(Results::first));
  }

  Results read(Stream& stream, const Deadline& deadline, std::string_view what) {
    enqueue_copy_from_device(stream, results, scratch.data(), sizeof(Results));
    stream.synchronize(deadline, what);
    Results found{};
    std::memcpy(&found, results.data(), sizeof found);
    return found;
  }

  void fill_slots(Stream& stream, const Slots& slots, int tag) const {
    launch(stream, fill, "rdmabench_fill", grid_for(context.device(), slots.size, slots.count),
           slots.data, slots.size, slots.stride, slots.count, slots.first, tag);
  }

  /// slot * size + offset; nothing if all bytes are right.
  std::optional<std::uint64_t> find_in(Stream& stream, const Slots& slots, int tag,
                                       const Deadline& deadline) {
    clear(stream);
    launch(stream, find_mismatch, "rdmabench_find_mismatch",
           grid_for(context.device(), slots.size, slots.count), slots.data, slots.size,
           slots.stride, slots.count, slots.first, tag, scratch.data());
    const std::uint64_t first =
        read(stream, deadline, "the check of received messages in GPU memory").first;
    if (first == ~std::uint64_t{0}) return std::nullopt;
    return first;
  }

  Context context;
  Module module;
  Allocation scratch;
  PinnedHost results;
  CUfunc_st* fill = module.find("rdmabench_fill");
  CUfunc_st* find_mismatch = module.find("rdmabench_find_mismatch");
  CUfunc_st* compare = module.find("rdmabench_compare");
  CUfunc_st* checksum = module.find("rdmabench_checksum");
};

Kernels::Kernels(const Context& context) : state_(std::make_unique<State>(context)) {}
Kernels::~Kernels() = default;
Kernels::Kernels(Kernels&&) noexcept = default;

void Kernels::fill_pattern(Stream& stream, DevicePointer data, std::uint64_t bytes,
                           std::uint8_t tag) {
  const Slots one{.data = data, .size = bytes, .stride = bytes};
  if (!is_empty(one)) state_->fill_slots(stream, one, tag);
}

void Kernels::fill_pattern(Stream& stream, const Slots& slots) {
  require_apart(slots);
  if (!is_empty(slots)) state_->fill_slots(stream, slots, -1);
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

Difference Kernels::compare(Stream& stream, DevicePointer a, DevicePointer b,
                            std::uint64_t elements, std::uint32_t element_bytes,
                            const Deadline& deadline) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4 && element_bytes != 8) {
    throw Error(Fault::usage, fmt::format("invalid element size of {} bytes", element_bytes),
                "It may be 1, 2, 4 or 8");
  }
  if (elements == 0) return {};
  state_->clear(stream);
  state_->launch(stream, state_->compare, "rdmabench_compare",
                 grid_for(state_->context.device(), elements * element_bytes, 1), a, b, elements,
                 element_bytes, state_->scratch.data());
  const Results found = state_->read(stream, deadline, "the comparison of two ranges");
  if (found.count == 0) return {};
  return {found.count, found.first, found.last};
}

std::uint64_t Kernels::checksum(Stream& stream, DevicePointer data, std::uint64_t bytes,
                                const Deadline& deadline) {
  if (bytes == 0) return 0;
  state_->clear(stream);
  state_->launch(stream, state_->checksum, "rdmabench_checksum",
                 grid_for(state_->context.device(), bytes, 1), data, bytes, state_->scratch.data());
  return state_->read(stream, deadline, "the checksum of a range").sum;
}

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    sum += mix(word + (at / sizeof word + 1) * kGolden);
  }
  return sum;
}

}  // namespace rdmabench::gpu
