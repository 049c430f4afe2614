// The memory of messages, and the processors that the tool runs on.
#include <algorithm>
#include <string>

#include "base/text.h"
#include "flag_table.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::tools::perftest {
namespace {

constexpr std::string_view kNoGpu =
    "Use --use_cuda, --use_hugepages, --mmap or none: memory of other accelerators is not offered.";

constexpr std::string_view kFakeGpu = "unit; with a fake driver, tests/integration/gpu_memory.py";

/// The value as rdmabench's own --memory expects it.
void set_gpu(Flags& flags, const Given& given, bool by_address) {
  const std::string text = "cuda:" + given.text;
  const bool has_colon = given.text.find(':') != std::string::npos;
  if (by_address != has_colon || given.text.find(',') != std::string::npos) {
    refuse_word(given, by_address ? "a PCI address: 0000:1b:00.0" : "a number from 0 on");
  }
  if (!by_address) whole(given, 0, 1023);  // throws an Error that names the flag
  memory::parse_request(text);
  (by_address ? flags.gpu_address : flags.gpu) = given.text;
}

/// "0-3,8": the first of them.
void set_cpu(Flags& flags, const Given& given) {
  constexpr std::uint64_t kMost = 1023;
  int first = -1;
  for (const std::string_view item : split(given.text, ',')) {
    const std::string part(item);
    const std::size_t dash = std::min(part.find('-'), part.size());
    const int from = whole_as<int>({given.name, part.substr(0, dash)}, 0, kMost);
    if (dash < part.size()) whole({given.name, part.substr(dash + 1)}, 0, kMost);
    if (first < 0) first = from;
  }
  flags.config.placement.cpus = {first};
}

constexpr Flag kMemoryFlags[] = {
    mapped("--use_hugepages", kAll, "--memory huge", "guest", set<&Flags::huge_pages>),
    mapped("--mmap=file", kAll, "--memory file:PATH", "guest", set<&Flags::file>),
    mapped("--mmap-offset=bytes", kAll, "--memory file:PATH@OFFSET", "guest",
           set<&Flags::file_offset>),
    same("--odp", "on_demand", kSend | kWrite | kRead, "--odp, where the device supports it",
         "not exercised: rdma_rxe supports it from Linux 7.2 on"),
    mapped("--disable_pcie_relaxed", kAll,
           "turns --relaxed-ordering off; it is on by default, as in perftest", "guest",
           [](Flags& f, const Given& /*g*/) { f.config.endpoint.relaxed_ordering = false; }),
    same("--mr_per_qp", "region_per_queue_pair", kBw,
         "--mr-per-qp; each region covers all of the memory", "guest"),
    refused("+ --use-null-mr", kWrite | kRead,
            "Leave it out: messages here carry bytes, so that --data_validation can compare them."),
    refused("+ --payload_file_path=file", kAll,
            "Use --data_validation: its bytes differ by position and by message."),
    mapped("+ --pin_cores=list", kAll,
           "--cpu; the first processor of the list, because there is one thread", "guest", set_cpu,
           "cpus"),
    mapped(
        "+ --numa_node=node", kAll, "--numa, for the memory; default: near the device", "guest",
        [](Flags& f, const Given& g) {
          f.config.placement.numa = std::to_string(whole(g, 0, 1023));
        },
        "numa"),
    mapped("+ --disable_numa", kAll, "--numa none", "guest",
           [](Flags& f, const Given& /*g*/) { f.config.placement.numa = "none"; }),
    mapped("--use_cuda=device", kAll,
           "--memory cuda:N; the server uses its GPU nearest to the NIC; ib_write_lat needs "
           "--write_with_imm too",
           kFakeGpu, [](Flags& f, const Given& g) { set_gpu(f, g, false); }),
    mapped(
        "--use_cuda_bus_id=address", kAll,
        "--memory cuda:0000:1b:00.0; the server uses its GPU nearest to the NIC; ib_write_lat needs "
        "--write_with_imm too",
        kFakeGpu, [](Flags& f, const Given& g) { set_gpu(f, g, true); }),
    mapped(
        "+ --use_cuda_dmabuf", kAll,
        "--gpu-mapping default: a dma-buf on both sides, or an error; without this flag the first "
        "mapping that works",
        kFakeGpu, set<&Flags::gpu_dma_buf>),
    mapped("+ --use_cuda_pcie_mapping", kAll, "--gpu-mapping pcie, with --use_cuda_dmabuf",
           kFakeGpu, set<&Flags::gpu_pcie>),
    mapped("+ --use_data_direct", kAll, "--gpu-mapping data-direct, with --use_cuda_dmabuf", "unit",
           set<&Flags::gpu_data_direct>),
    refused("+ --cuda_mem_type=number", kAll,
            "Leave it out: the memory is device memory, type 0; managed memory is not offered."),
    refused("+ --gpu_touch=mode", kAll,
            "Leave it out: rdmabench runs no GPU kernel beside the transfers."),
    refused("--use_rocm=device", kAll, kNoGpu),
    refused("+ --use_rocm_dmabuf", kAll, kNoGpu),
    refused("+ --use_musa=device", kAll, kNoGpu),
    refused("+ --use_musa_bus_id=address", kAll, kNoGpu),
    refused("+ --use_musa_dmabuf", kAll, kNoGpu),
    refused("+ --use_musa_pcie_mapping", kAll, kNoGpu),
    refused("+ --use_neuron=core", kAll, kNoGpu),
    refused("+ --use_neuron_dmabuf", kAll, kNoGpu),
    refused("+ --use_hl=device", kAll, kNoGpu),
    refused("+ --use_mlu=device", kAll, kNoGpu),
    refused("+ --use_mlu_dmabuf", kAll, kNoGpu),
    refused("+ --use_opencl=device", kAll, kNoGpu),
    refused("+ --opencl_platform_id=platform", kAll, kNoGpu),
    refused("+ --use_ib_dm_dmabuf=device", kAll,
            "Use --use_hugepages, --mmap or neither: memory of the NIC itself is not offered."),
};

}  // namespace

std::span<const Flag> memory_flags() {
  return kMemoryFlags;
}

}  // namespace rdmabench::inline v1::tools::perftest
