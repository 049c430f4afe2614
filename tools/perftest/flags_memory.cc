// Where messages lie, and on which processors the tool runs.
#include "flag_table.h"
#include "rdmabench/memory/request.h"
#include "values.h"

namespace rdmabench::tools::perftest {
namespace {

constexpr std::string_view kNoGpu =
    "Use --use_cuda, --use_hugepages, --mmap or none: other accelerators' memory is not offered.";

constexpr std::string_view kFakeGpu = "unit; with a fake driver, tests/integration/gpu_memory.py";

/// As rdmabench's own --memory takes it.
void set_gpu(Flags& flags, const Given& given, bool by_address) {
  const std::string text = "cuda:" + given.text;
  const bool has_colon = given.text.find(':') != std::string::npos;
  if (by_address != has_colon || given.text.find(',') != std::string::npos) {
    refuse_word(given, by_address ? "a PCI address: 0000:1b:00.0" : "a number from 0 on");
  }
  if (!by_address) whole(given, 0, 1023);  // names the flag where it is no number
  memory::parse_request(text);
  (by_address ? flags.gpu_address : flags.gpu) = given.text;
}

constexpr Flag kMemoryFlags[] = {
    {'\0', "use_hugepages", "", kAll, Release::both, Take::mapped, "--memory huge", "guest",
     [](Flags& f, const Given& /*g*/) { f.huge_pages = true; }},
    {'\0', "mmap", "file", kAll, Release::both, Take::mapped, "--memory file:PATH", "guest",
     [](Flags& f, const Given& g) { f.file = g.text; }},
    {'\0', "mmap-offset", "bytes", kAll, Release::both, Take::mapped, "--memory file:PATH@OFFSET",
     "guest", [](Flags& f, const Given& g) { f.file_offset = bytes(g); }},
    {'\0', "odp", "", kSend | kWrite | kRead, Release::both, Take::mapped,
     "--odp, where the device has it", "not exercised: rdma_rxe has it from Linux 7.2",
     [](Flags& f, const Given& /*g*/) { f.on_demand = true; }},
    {'\0', "disable_pcie_relaxed", "", kAll, Release::both, Take::mapped,
     "no --relaxed-ordering, which is on otherwise, as perftest's", "guest",
     [](Flags& f, const Given& /*g*/) { f.relaxed_ordering = false; }},
    {'\0', "mr_per_qp", "", kBw, Release::both, Take::refused,
     "Leave it out: one memory region serves all queue pairs. Run several clients for more.",
     "unit", nullptr},
    {'\0', "use-null-mr", "", kWrite | kRead, Release::new_only, Take::refused,
     "Leave it out: messages have bytes here, so that --data_validation can compare them.", "unit",
     nullptr},
    {'\0', "payload_file_path", "file", kAll, Release::new_only, Take::refused,
     "Use --data_validation for bytes that differ by place and by message.", "unit", nullptr},
    {'\0', "pin_cores", "cpu", kAll, Release::new_only, Take::mapped,
     "--cpu: one, as there is one thread", "guest",
     [](Flags& f, const Given& g) { f.cpu = whole_as<int>(g, 0, 1023); }},
    {'\0', "numa_node", "node", kAll, Release::new_only, Take::mapped,
     "--numa, of the memory; near the device without it", "guest",
     [](Flags& f, const Given& g) { f.numa = std::to_string(whole(g, 0, 1023)); }},
    {'\0', "disable_numa", "", kAll, Release::new_only, Take::mapped, "--numa none", "guest",
     [](Flags& f, const Given& /*g*/) { f.numa = "none"; }},
    {'\0', "use_cuda", "device", kAll, Release::both, Take::mapped,
     "--memory cuda:N; the server takes its GPU nearest to the NIC; ib_write_lat with "
     "--write_with_imm only",
     kFakeGpu, [](Flags& f, const Given& g) { set_gpu(f, g, false); }},
    {'\0', "use_cuda_bus_id", "address", kAll, Release::both, Take::mapped,
     "--memory cuda:0000:1b:00.0; the server takes its GPU nearest to the NIC; ib_write_lat with "
     "--write_with_imm only",
     kFakeGpu, [](Flags& f, const Given& g) { set_gpu(f, g, true); }},
    {'\0', "use_cuda_dmabuf", "", kAll, Release::new_only, Take::mapped,
     "--gpu-mapping default: a dma-buf or nothing, on both sides; without it the first way that "
     "works",
     kFakeGpu, [](Flags& f, const Given& /*g*/) { f.gpu_dma_buf = true; }},
    {'\0', "use_cuda_pcie_mapping", "", kAll, Release::new_only, Take::mapped,
     "--gpu-mapping pcie, with --use_cuda_dmabuf", kFakeGpu,
     [](Flags& f, const Given& /*g*/) { f.gpu_pcie = true; }},
    {'\0', "use_data_direct", "", kAll, Release::new_only, Take::mapped,
     "--gpu-mapping data-direct, with --use_cuda_dmabuf", "unit",
     [](Flags& f, const Given& /*g*/) { f.gpu_data_direct = true; }},
    {'\0', "cuda_mem_type", "number", kAll, Release::new_only, Take::refused,
     "Leave it out: it is device memory, type 0; managed memory would be the host's.", "unit",
     nullptr},
    {'\0', "gpu_touch", "mode", kAll, Release::new_only, Take::refused,
     "Leave it out: no kernel runs beside the transfers here.", "unit", nullptr},
    {'\0', "use_rocm", "device", kAll, Release::both, Take::refused, kNoGpu, "unit", nullptr},
    {'\0', "use_rocm_dmabuf", "", kAll, Release::new_only, Take::refused, kNoGpu, "unit", nullptr},
    {'\0', "use_musa", "device", kAll, Release::new_only, Take::refused, kNoGpu, "unit", nullptr},
    {'\0', "use_musa_bus_id", "address", kAll, Release::new_only, Take::refused, kNoGpu, "unit",
     nullptr},
    {'\0', "use_musa_dmabuf", "", kAll, Release::new_only, Take::refused, kNoGpu, "unit", nullptr},
    {'\0', "use_musa_pcie_mapping", "", kAll, Release::new_only, Take::refused, kNoGpu, "unit",
     nullptr},
    {'\0', "use_neuron", "core", kAll, Release::new_only, Take::refused, kNoGpu, "unit", nullptr},
    {'\0', "use_neuron_dmabuf", "", kAll, Release::new_only, Take::refused, kNoGpu, "unit",
     nullptr},
    {'\0', "use_hl", "device", kAll, Release::new_only, Take::refused, kNoGpu, "unit", nullptr},
    {'\0', "use_mlu", "device", kAll, Release::new_only, Take::refused, kNoGpu, "unit", nullptr},
    {'\0', "use_mlu_dmabuf", "", kAll, Release::new_only, Take::refused, kNoGpu, "unit", nullptr},
    {'\0', "use_opencl", "device", kAll, Release::new_only, Take::refused, kNoGpu, "unit", nullptr},
    {'\0', "opencl_platform_id", "platform", kAll, Release::new_only, Take::refused, kNoGpu, "unit",
     nullptr},
    {'\0', "use_ib_dm_dmabuf", "device", kAll, Release::new_only, Take::refused,
     "Use --use_hugepages, --mmap or neither: memory on the device is not offered here.", "unit",
     nullptr},
};

}  // namespace

std::span<const Flag> memory_flags() {
  return kMemoryFlags;
}

}  // namespace rdmabench::tools::perftest
