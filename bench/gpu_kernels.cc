// Whether the kernels of gpu/ are right on this machine's GPU, and what share of its copy bandwidth
// they reach: the first thing to run where a GPU is at hand. Prints Markdown.
//   gpu_kernels [GPU [BYTES]]    by default 0, and 1G
// Exit code 1: a kernel is wrong; 2: wrong usage; 3: no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <vector>

#include "gpu/copy.h"
#include "gpu/dma_buf.h"
#include "gpu/event.h"
#include "gpu/flush.h"
#include "gpu/kernels.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/memory/pattern.h"

namespace {

using namespace rdmabench;

constexpr std::uint8_t kTag = 7;
constexpr int kTimes = 20;

Deadline soon() {
  return Deadline::after(std::chrono::seconds(60));
}

void require(bool right, std::string_view what) {
  if (!right) throw Error(Fault::failed, fmt::format("wrong: {}", what));
}

struct Bench {
  explicit Bench(const gpu::Context& context, std::uint64_t bytes)
      : a(context, bytes), b(context, bytes), stream(context), kernels(context) {}

  gpu::Allocation a;
  gpu::Allocation b;
  gpu::Stream stream;
  gpu::Kernels kernels;
};

/// Every kernel against the host's words for the same, byte by byte.
void verify(Bench& bench, std::uint64_t bytes) {
  const std::uint64_t size = std::min<std::uint64_t>(bytes, 8U << 20) - 1;
  const gpu::DevicePointer data = bench.a.data();
  bench.kernels.fill_pattern(bench.stream, data, size, kTag);
  std::vector<std::byte> read(size);
  gpu::copy_from_device(bench.stream, read, data, soon());
  require(!memory::find_mismatch(read, kTag), "what the fill kernel wrote");
  require(!bench.kernels.find_mismatch(bench.stream, data, size, kTag, soon()),
          "the check kernel sees an error where none is");
  for (const std::uint64_t at : {std::uint64_t{0}, size / 2, size - 1}) {
    const std::byte other = read[at] ^ std::byte{0x80};
    gpu::copy_to_device(bench.stream, data + at, std::span(&other, 1), soon());
    require(bench.kernels.find_mismatch(bench.stream, data, size, kTag, soon()) == at,
            "the check kernel misses a planted error");
    gpu::copy_to_device(bench.stream, data + at, std::span(&read[at], 1), soon());
  }
}

/// Bytes a second: the median of kTimes, by the GPU's clock, after one for warmth.
double rate(Bench& bench, std::uint64_t bytes, const std::function<void()>& work) {
  std::vector<double> rates;
  for (int i = 0; i <= kTimes; ++i) {
    gpu::Event begin(bench.a.context());
    gpu::Event end(bench.a.context());
    require(begin.record(bench.stream), "cuEventRecord");
    work();
    require(end.record(bench.stream), "cuEventRecord");
    end.synchronize(soon());
    const double nanoseconds = std::max(elapsed(begin, end).count(), 1.0);
    if (i > 0) rates.push_back(static_cast<double>(bytes) * 1e9 / nanoseconds);
  }
  std::nth_element(rates.begin(), rates.begin() + kTimes / 2, rates.end());
  return rates[kTimes / 2];
}

void print_rates(Bench& bench, std::uint64_t bytes) {
  const gpu::DevicePointer a = bench.a.data();
  const gpu::DevicePointer b = bench.b.data();
  const double copy = rate(bench, bytes, [&] { gpu::enqueue_copy(bench.stream, b, a, bytes); });
  fmt::print("| work on {} | GB/s of its bytes | of the copy |\n|---|---|---|\n",
             format_size(bytes));
  const auto print = [&](const char* name, double found) {
    fmt::print("| {} | {:.1f} | {:.0f} % |\n", name, found / 1e9, 100 * found / copy);
  };
  print("copy (each byte read and written)", copy);
  print("fill",
        rate(bench, bytes, [&] { bench.kernels.fill_pattern(bench.stream, a, bytes, kTag); }));
  print("check (and its answer)", rate(bench, bytes, [&] {
          bench.kernels.find_mismatch(bench.stream, a, bytes, kTag, soon());
        }));
}

/// What a NIC would be given, or why not.
void print_memory(const gpu::Context& context) {
  for (const gpu::Mode mode : {gpu::Mode::plain, gpu::Mode::vmm}) {
    try {
      const gpu::Allocation memory(context, 1U << 20, mode);
      fmt::print("- {}: SYNC_MEMOPS {}; ", name(mode), memory.sync_memops_text());
      for (const auto mapping : {gpu::DmaBufMapping::automatic, gpu::DmaBufMapping::pcie}) {
        try {
          fmt::print("dma-buf {}; ", export_dma_buf(memory, mapping).reason());
        } catch (const Error& error) {
          fmt::print("no dma-buf: {}; ", error.what());
        }
      }
      fmt::print("\n");
    } catch (const Error& error) {
      fmt::print("- {}: {}\n", name(mode), error.what());
    }
  }
}

void run(std::string_view device, std::uint64_t bytes) {
  const gpu::Context context(gpu::find_device(device).ordinal);
  fmt::print("{}, driver of CUDA {}; flush {}\n\n", to_text(context.device()),
             gpu::version_text(context.device().driver_version),
             gpu::flush_rule(context.device()).text);
  print_memory(context);
  context.make_current();
  Bench bench(context, bytes);
  verify(bench, bytes);
  fmt::print("- every kernel agrees with the host\n\n");
  print_rates(bench, bytes);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count > 3) throw Error(Fault::usage, "gpu_kernels [GPU [BYTES]]");
    const std::uint64_t bytes = parse_size(count > 2 ? arguments[2] : "1G");
    if (bytes < 4096) throw Error(Fault::usage, fmt::format("{} bytes", bytes), "4096 at least");
    run(count > 1 ? arguments[1] : "0", bytes);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "gpu_kernels: {}\n", error.what());
    return static_cast<int>(error.fault());
  }
}
