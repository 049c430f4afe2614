#include "gpu/nvml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "loaded/library.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::gpu {
namespace {

std::string said(const Nvml& table, nvml_abi::Result result) {
  const char* text = table.error_string(result);
  return fmt::format("{} (nvmlReturn_t {})", text != nullptr ? text : "unknown reason", result);
}

Nvml load_library() {
  const std::string& file = loaded::nvml.require().file;
  return load_nvml([](const char* name) { return loaded::nvml.find(name); }, file);
}

using ReadNumber = nvml_abi::Result (*)(nvmlDevice_st*, unsigned*);

std::optional<unsigned> read(nvmlDevice_st* device, ReadNumber function) {
  unsigned value = 0;
  if (function(device, &value) != nvml_abi::kSuccess) return std::nullopt;
  return value;
}

std::string of_text(std::string_view format, const std::optional<unsigned>& now,
                    const std::optional<unsigned>& most) {
  if (!now) return {};
  return fmt::format(fmt::runtime(format), *now) + (most ? fmt::format(" of {}", *most) : "");
}

}  // namespace

Nvml load_nvml(const FindFunction& find, std::string_view path) {
  Nvml table{};
  std::vector<std::string> missing;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find(name));
    if (function == nullptr) missing.emplace_back(name);
  };
  load(table.init, "nvmlInit_v2");
  load(table.error_string, "nvmlErrorString");
  load(table.get_handle_by_pci_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  load(table.get_driver_version, "nvmlSystemGetDriverVersion");
  load(table.get_bar1_memory, "nvmlDeviceGetBAR1MemoryInfo");
  load(table.get_pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  load(table.get_pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  load(table.get_max_pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
  load(table.get_max_pcie_width, "nvmlDeviceGetMaxPcieLinkWidth");
  if (!missing.empty()) {
    throw Error(Fault::unavailable, fmt::format("{} lacks {}", path, fmt::join(missing, ", ")),
                "Install a newer NVIDIA driver");
  }
  table.get_c2c_mode =
      reinterpret_cast<decltype(table.get_c2c_mode)>(find("nvmlDeviceGetC2cModeInfoV"));
  const nvml_abi::Result result = table.init();
  if (result != nvml_abi::kSuccess) {
    throw Error(Fault::unavailable, fmt::format("nvmlInit() of {}: {}", path, said(table, result)),
                "Check with nvidia-smi that the NVIDIA kernel modules are loaded");
  }
  return table;
}

const Nvml& nvml() {
  static const Nvml table = load_library();
  return table;
}

GpuFacts read_gpu_facts(std::string_view pci_address) {
  const Nvml& table = nvml();
  nvmlDevice_st* device = nullptr;
  const nvml_abi::Result result =
      table.get_handle_by_pci_bus_id(std::string(pci_address).c_str(), &device);
  if (result != nvml_abi::kSuccess) {
    throw Error(
        Fault::unavailable,
        fmt::format("nvmlDeviceGetHandleByPciBusId({}): {}", pci_address, said(table, result)),
        "nvidia-smi -L lists the GPUs");
  }
  GpuFacts facts;
  char text[96] = {};
  if (table.get_driver_version(text, sizeof text) == nvml_abi::kSuccess) {
    text[sizeof text - 1] = '\0';
    facts.driver = text;
  }
  nvml_abi::Bar1Memory memory{};
  if (table.get_bar1_memory(device, &memory) == nvml_abi::kSuccess) {
    facts.bar1_bytes = memory.total;
    facts.bar1_free_bytes = memory.free;
  }
  facts.pcie_generation = read(device, table.get_pcie_generation);
  facts.max_pcie_generation = read(device, table.get_max_pcie_generation);
  facts.pcie_width = read(device, table.get_pcie_width);
  facts.max_pcie_width = read(device, table.get_max_pcie_width);
  nvml_abi::C2cMode mode{};
  if (table.get_c2c_mode != nullptr && table.get_c2c_mode(device, &mode) == nvml_abi::kSuccess) {
    facts.c2c = mode.enabled != 0;
  }
  return facts;
}

std::string to_text(const GpuFacts& facts) {
  std::vector<std::string> parts;
  const auto add = [&parts](std::string part) {
    if (!part.empty()) parts.push_back(std::move(part));
  };
  if (!facts.driver.empty()) add("driver " + facts.driver);
  add(of_text("PCIe generation {}", facts.pcie_generation, facts.max_pcie_generation));
  add(of_text("{} lanes", facts.pcie_width, facts.max_pcie_width));
  if (facts.bar1_bytes) add("BAR1 " + format_size(*facts.bar1_bytes));
  if (facts.c2c) add(*facts.c2c ? "NVLink-C2C" : "no NVLink-C2C");
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace rdmabench::gpu
