// The room gpu/ and the functions of NCCL on this machine, part by part: what
// scripts/gpu-acceptance runs.
//   gpu_parts PART [GPU [BYTES]]    by default 0, and 1G
// Prints one JSON object: `observed`, a sentence, and numbers. Exit code 1: wrong, 2: usage, 3: not
// available here; then standard error has the reason.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "collective/nccl/library.h"
#include "gpu/copy.h"
#include "gpu/dma_buf.h"
#include "gpu/flush.h"
#include "gpu/graph.h"
#include "gpu/kernels.h"
#include "gpu/pairing.h"
#include "gpu/tiler.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/memory/buffer.h"

namespace {

using namespace rdmabench;
using nlohmann::json;

constexpr std::uint8_t kTag = 7;
constexpr int kTimes = 20;
constexpr std::uint64_t kSmall = 8U << 20;

struct Asked {
  std::string gpu = "0";
  std::uint64_t bytes = 1U << 30;
};

Deadline soon() {
  return Deadline::after(std::chrono::seconds(30));
}

void require(bool right, std::string_view what) {
  if (!right) throw Error(Fault::failed, std::string(what));
}

gpu::Context open(const Asked& asked) {
  gpu::Context context(gpu::find_device(asked.gpu).ordinal);
  context.make_current();
  return context;
}

std::string table_text(const std::string& file, const std::string& version,
                       const std::vector<std::string>& absent) {
  return fmt::format("{}, {}; {}", file, version,
                     absent.empty() ? "every function is there"
                                    : fmt::format("without {}", fmt::join(absent, ", ")));
}

json driver(const Asked& /*asked*/) {
  const gpu::Driver& table = gpu::driver();
  std::vector<std::string> absent;
  const auto look = [&](auto* function, const char* name, int since) {
    if (function != nullptr) return;
    absent.emplace_back(name);
    require(table.version < since,
            fmt::format("{} of CUDA {} has no {}, which came with {}", table.path,
                        gpu::version_text(table.version), name, gpu::version_text(since)));
  };
  look(table.stream_begin_capture, "cuStreamBeginCapture_v2", 10010);
  look(table.stream_end_capture, "cuStreamEndCapture", 10000);
  look(table.graph_instantiate, "cuGraphInstantiateWithFlags", 11040);
  look(table.graph_launch, "cuGraphLaunch", 10000);
  look(table.graph_exec_destroy, "cuGraphExecDestroy", 10000);
  look(table.graph_destroy, "cuGraphDestroy", 10000);
  look(table.mem_get_allocation_granularity, "cuMemGetAllocationGranularity", 10020);
  look(table.mem_create, "cuMemCreate", 10020);
  look(table.mem_release, "cuMemRelease", 10020);
  look(table.mem_address_reserve, "cuMemAddressReserve", 10020);
  look(table.mem_address_free, "cuMemAddressFree", 10020);
  look(table.mem_map, "cuMemMap", 10020);
  look(table.mem_unmap, "cuMemUnmap", 10020);
  look(table.mem_set_access, "cuMemSetAccess", 10020);
  look(table.flush_gpu_direct_rdma_writes, "cuFlushGPUDirectRDMAWrites", 11030);
  look(table.mem_get_handle_for_address_range, "cuMemGetHandleForAddressRange", 11070);
  look(table.ctx_get_flags, "cuCtxGetFlags", 7000);
  look(table.ctx_set_flags, "cuCtxSetFlags", 12010);
  return {{"observed", table_text(table.path, "CUDA " + gpu::version_text(table.version), absent)},
          {"file", table.path},
          {"version", table.version}};
}

json nccl(const Asked& /*asked*/) {
  namespace abi = collective::nccl;
  const abi::Library& table = abi::library();
  std::vector<std::string> absent;
  const auto look = [&](auto* function, const char* name, int since) {
    if (function != nullptr) return;
    absent.emplace_back(name);
    require(table.version < since,
            fmt::format("{} of NCCL {} has no {}, which came with {}", table.path,
                        abi::version_text(table.version), name, abi::version_text(since)));
  };
  look(table.mem_alloc, "ncclMemAlloc", abi::kHasRegister);
  look(table.mem_free, "ncclMemFree", abi::kHasRegister);
  look(table.comm_register, "ncclCommRegister", abi::kHasRegister);
  look(table.comm_deregister, "ncclCommDeregister", abi::kHasRegister);
  look(table.comm_window_register, "ncclCommWindowRegister", abi::kHasWindows);
  look(table.comm_window_deregister, "ncclCommWindowDeregister", abi::kHasWindows);
  look(table.all_to_all, "ncclAlltoAll", abi::kHasAllToAll);
  look(table.gather, "ncclGather", abi::kHasAllToAll);
  look(table.scatter, "ncclScatter", abi::kHasAllToAll);
  return {{"observed", table_text(table.path, "NCCL " + abi::version_text(table.version), absent)},
          {"file", table.path},
          {"version", table.version}};
}

json devices(const Asked& /*asked*/) {
  json all = json::array();
  std::vector<std::string> texts;
  for (const gpu::DeviceInfo& one : gpu::devices()) {
    texts.push_back(to_text(one));
    int compute_mode = 0;
    gpu::driver().device_get_attribute(&compute_mode, gpu::cuda::kComputeMode, one.ordinal);
    all.push_back({{"ordinal", one.ordinal},
                   {"name", one.name},
                   {"uuid", one.uuid},
                   {"pci_address", one.pci_address},
                   {"memory_bytes", one.memory_bytes},
                   {"compute_capability", fmt::format("{}.{}", one.major, one.minor)},
                   {"multiprocessors", one.multiprocessors},
                   {"dma_buf", one.dma_buf},
                   {"vmm", one.vmm},
                   {"vmm_rdma", one.vmm_rdma},
                   {"coherent", one.coherent},
                   {"exclusive_process", compute_mode == gpu::cuda::kExclusiveProcess},
                   {"writes_ordering", one.writes_ordering},
                   {"flush", gpu::flush_rule(one).text}});
  }
  return {{"observed", fmt::format("{}", fmt::join(texts, "; "))}, {"devices", all}};
}

json pairing(const Asked& asked) {
  const std::string pci = gpu::find_device(asked.gpu).pci_address;
  std::vector<std::string> texts;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", none)) {
    texts.push_back(gpu::find_pair(entry.path().filename().string(), pci).text);
  }
  if (texts.empty()) throw Error(Fault::unavailable, "no RDMA device is here to pair a GPU with");
  return {{"observed", fmt::format("{}", fmt::join(texts, "; "))}};
}

/// Bytes of the host go there and come back.
json allocate(const Asked& asked, gpu::Mode mode) {
  const gpu::Context context = open(asked);
  const gpu::Allocation memory(context, kSmall - 1, mode);
  require(memory.data() % gpu::kGpuPageBytes == 0, "the memory begins within a GPU page");
  gpu::Stream stream(context);
  std::vector<std::byte> sent(memory.size());
  memory::fill_pattern(sent, kTag);
  gpu::PinnedHost staging(context, gpu::kStagingBytes);
  gpu::copy_to_device(stream, staging, memory.data(), sent, soon());
  std::vector<std::byte> read(sent.size());
  gpu::copy_from_device(stream, staging, read, memory.data(), soon());
  require(read == sent, "what was read is not what was written");
  const auto capable = memory.gpudirect();
  return {{"observed", fmt::format("written and read back; SYNC_MEMOPS {}, GPUDirect RDMA {}",
                                   memory.sync_memops_text(),
                                   !capable   ? "unknown"
                                   : *capable ? "capable"
                                              : "not capable")}};
}

json dma_buf(const Asked& asked) {
  const gpu::Context context = open(asked);
  if (!context.device().dma_buf) {
    try {
      export_dma_buf(gpu::Allocation(context, kSmall));
    } catch (const Error& error) {
      require(error.fault() == Fault::unavailable, error.what());
      throw;
    }
    throw Error(Fault::failed, "exported, though the device says that it cannot");
  }
  std::vector<std::string> texts;
  for (const gpu::Mode mode : {gpu::Mode::plain, gpu::Mode::vmm}) {
    const gpu::Allocation memory(context, kSmall, mode);
    const gpu::DmaBuf whole = export_dma_buf(memory);
    require(whole.descriptor() >= 0 && whole.bytes() >= kSmall, "the dma-buf is too small");
    const gpu::DmaBuf part = export_dma_buf(context, memory.data() + 5000, 100);
    require(part.offset() < 65536 && part.offset() % 4096 == 5000 % 4096, "a wrong offset");
    texts.push_back(fmt::format("{}: {}", name(mode), whole.reason()));
    try {
      texts.push_back("asked for PCIe: " +
                      export_dma_buf(memory, gpu::DmaBufMapping::pcie).reason());
    } catch (const Error& error) {
      // Not every driver has it, and only a GPU with a coherent link needs it.
      require(!context.device().coherent, error.what());
      texts.push_back(fmt::format("asked for PCIe: {}", error.what()));
    }
  }
  return {{"observed", fmt::format("{}", fmt::join(texts, "; "))}};
}

struct Bench {
  Bench(const gpu::Context& context, std::uint64_t bytes)
      : a(context, bytes),
        b(context, bytes),
        staging(context, gpu::kStagingBytes),
        stream(context),
        kernels(context) {}

  gpu::Allocation a;
  gpu::Allocation b;
  gpu::PinnedHost staging;
  gpu::Stream stream;
  gpu::Kernels kernels;
};

json streams(const Asked& asked) {
  const gpu::Context context = open(asked);
  Bench bench(context, asked.bytes);
  gpu::Stream other(context);
  for (int i = 0; i < kTimes * 10; ++i) {
    gpu::enqueue_copy(bench.stream, bench.b.data(), bench.a.data(), asked.bytes);
  }
  require(bench.stream.poll() == gpu::Progress::busy, "a stream with work is not busy");
  other.synchronize(soon());  // does not wait for the first stream
  bool expired = false;
  try {
    bench.stream.synchronize(Deadline::after(std::chrono::nanoseconds(1)));
  } catch (const Error&) {
    expired = true;
  }
  require(expired, "a deadline that had passed did not end the wait for a stream");
  bench.stream.synchronize(soon());
  require(bench.stream.poll() == gpu::Progress::done, "a stream is busy after its work");
  return {{"observed", "busy with work, a deadline ends a wait, another stream does not wait"}};
}

json graphs(const Asked& asked) {
  const gpu::Context context = open(asked);
  Bench bench(context, kSmall);
  gpu::Graph graph = gpu::Graph::capture(bench.stream, [&](gpu::Stream& stream) {
    bench.kernels.fill_pattern(stream, bench.a.data(), kSmall, kTag);
    gpu::enqueue_copy(stream, bench.b.data(), bench.a.data(), kSmall);
  });
  for (int i = 0; i < 2; ++i) {
    gpu::enqueue_set(bench.stream, bench.b.data(), std::byte{0}, kSmall);
    require(
        bench.kernels.find_mismatch(bench.stream, bench.b.data(), kSmall, kTag, soon()).has_value(),
        "the memory was not cleared");
    require(graph.launch(bench.stream), "cuGraphLaunch");
    require(!bench.kernels.find_mismatch(bench.stream, bench.b.data(), kSmall, kTag, soon()),
            "what a graph wrote is wrong");
  }
  return {{"observed", "a kernel and a copy, captured once, launched twice, right each time"}};
}

/// Periods of elements of each size, as collectives have them.
void tiles(const gpu::Context& context, Bench& bench) {
  constexpr std::uint64_t kPieces = 64;
  constexpr std::uint64_t kPiece = 49152;
  std::vector<std::byte> period(4093 * 8);
  gpu::Tiler tiler(context, kPieces, kPieces * (period.size() + 8));
  memory::fill_pattern(period, kTag);
  for (const std::uint32_t element : {1U, 2U, 4U, 8U}) {
    std::vector<gpu::Tiled> pieces;
    for (std::uint64_t i = 0; i < kPieces; ++i) {
      pieces.push_back({.data = bench.a.data() + i * kPiece + element,
                        .bytes = kPiece - 2 * element,
                        .period = std::span(period).first((4093 - i) * element)});
    }
    tiler.write(bench.stream, pieces, element, soon());
    require(tiler.find_different(bench.stream, pieces, element, soon()).empty(),
            "the kernels of periods disagree");
    const gpu::Tiled& one = pieces[9];
    std::vector<std::byte> read(one.bytes);
    gpu::copy_from_device(bench.stream, tiler.staging(), read, one.data, soon());
    for (std::size_t i = 0; i < read.size(); ++i) {
      require(read[i] == one.period[i % one.period.size()], "a period was written wrong");
    }
    read.back() ^= std::byte{1};
    gpu::copy_to_device(bench.stream, tiler.staging(), one.data, read, soon());
    require(
        tiler.find_different(bench.stream, pieces, element, soon()) == std::vector<std::size_t>{9},
        "the compare kernel of periods misses a planted error");
  }
}

/// Every kernel against the host's function for the same, byte by byte.
json kernels(const Asked& asked) {
  const gpu::Context context = open(asked);
  Bench bench(context, kSmall);
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{1000}, kSmall - 1}) {
    const gpu::DevicePointer data = bench.a.data();
    bench.kernels.fill_pattern(bench.stream, data, size, kTag);
    std::vector<std::byte> read(size);
    gpu::copy_from_device(bench.stream, bench.staging, read, data, soon());
    require(!memory::find_mismatch(read, kTag), "what the fill kernel wrote is wrong");
    require(!bench.kernels.find_mismatch(bench.stream, data, size, kTag, soon()),
            "the compare kernel sees an error where none is");
    for (const std::uint64_t at : {std::uint64_t{0}, size / 2, size - 1}) {
      const std::byte other = read[at] ^ std::byte{0x80};
      gpu::copy_to_device(bench.stream, bench.staging, data + at, std::span(&other, 1), soon());
      require(bench.kernels.find_mismatch(bench.stream, data, size, kTag, soon()) == at,
              "the compare kernel misses a planted error");
      gpu::copy_to_device(bench.stream, bench.staging, data + at, std::span(&read[at], 1), soon());
    }
  }
  tiles(context, bench);
  return {{"observed",
           "fill and compare agree with the host, and find each planted error; so do those of "
           "periods"}};
}

/// Bytes a second: the median of kTimes, after one for warmth.
double rate(Bench& bench, std::uint64_t bytes, const std::function<void()>& work) {
  std::vector<double> rates;
  for (int i = 0; i <= kTimes; ++i) {
    const auto begin = Deadline::Clock::now();
    work();
    bench.stream.synchronize(soon());
    const std::chrono::duration<double> seconds = Deadline::Clock::now() - begin;
    if (i > 0) rates.push_back(static_cast<double>(bytes) / seconds.count());
  }
  std::nth_element(rates.begin(), rates.begin() + kTimes / 2, rates.end());
  return rates[kTimes / 2];
}

json rates(const Asked& asked) {
  const gpu::Context context = open(asked);
  Bench bench(context, asked.bytes);
  const gpu::DevicePointer a = bench.a.data();
  const double copy = rate(
      bench, asked.bytes, [&] { gpu::enqueue_copy(bench.stream, bench.b.data(), a, asked.bytes); });
  const double fill = rate(bench, asked.bytes,
                           [&] { bench.kernels.fill_pattern(bench.stream, a, asked.bytes, kTag); });
  const double compare = rate(bench, asked.bytes, [&] {
    bench.kernels.find_mismatch(bench.stream, a, asked.bytes, kTag, soon());
  });
  return {{"observed",
           fmt::format("{}: copy {:.1f} GB/s (each byte read and written), fill {:.1f} GB/s "
                       "({:.0f} %), compare {:.1f} GB/s ({:.0f} %)",
                       format_size(asked.bytes), copy / 1e9, fill / 1e9, 100 * fill / copy,
                       compare / 1e9, 100 * compare / copy)},
          {"copy_bytes_per_s", copy},
          {"fill_bytes_per_s", fill},
          {"compare_bytes_per_s", compare},
          {"fill_share", fill / copy},
          {"compare_share", compare / copy}};
}

struct Part {
  std::string_view name;
  json (*run)(const Asked& asked);
};

constexpr std::array<Part, 11> kParts{
    {{"driver", driver},
     {"nccl", nccl},
     {"devices", devices},
     {"pairing", pairing},
     {"plain", [](const Asked& asked) { return allocate(asked, gpu::Mode::plain); }},
     {"vmm", [](const Asked& asked) { return allocate(asked, gpu::Mode::vmm); }},
     {"dma-buf", dma_buf},
     {"streams", streams},
     {"graphs", graphs},
     {"kernels", kernels},
     {"rates", rates}}};

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::vector<std::string_view> words(arguments + 1, arguments + count);
    const auto* const part = std::find_if(kParts.begin(), kParts.end(), [&](const Part& one) {
      return !words.empty() && one.name == words.front();
    });
    if (part == kParts.end() || words.size() > 3) {
      throw Error(Fault::usage, "gpu_parts PART [GPU [BYTES]]");
    }
    Asked asked;
    if (words.size() > 1) asked.gpu = words[1];
    if (words.size() > 2) asked.bytes = parse_size(words[2]);
    if (asked.bytes < 4096) throw Error(Fault::usage, fmt::format("{} bytes", asked.bytes));
    fmt::print("{}\n", part->run(asked).dump());
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.fault());
  }
}
