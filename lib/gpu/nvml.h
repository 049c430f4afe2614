// Facts of a GPU that NVML reports and the CUDA driver does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/driver.h"
#include "gpu/nvml_abi.h"

namespace rdmabench::gpu {

/// The functions of libnvidia-ml.so.1. Those below "optional" may be null.
struct Nvml {
  nvml_abi::Result (*init)();
  const char* (*error_string)(nvml_abi::Result result);
  nvml_abi::Result (*get_handle_by_pci_bus_id)(const char* address, nvmlDevice_st** device);
  nvml_abi::Result (*get_driver_version)(char* text, unsigned length);
  nvml_abi::Result (*get_bar1_memory)(nvmlDevice_st* device, nvml_abi::Bar1Memory* memory);
  nvml_abi::Result (*get_pcie_generation)(nvmlDevice_st* device, unsigned* generation);
  nvml_abi::Result (*get_pcie_width)(nvmlDevice_st* device, unsigned* lanes);
  nvml_abi::Result (*get_max_pcie_generation)(nvmlDevice_st* device, unsigned* generation);
  nvml_abi::Result (*get_max_pcie_width)(nvmlDevice_st* device, unsigned* lanes);

  // Optional: driver 535.
  nvml_abi::Result (*get_c2c_mode)(nvmlDevice_st* device, nvml_abi::C2cMode* mode);
};

/// Fills the table and initialises NVML. `path` is named in errors. Throws Error(unavailable) with
/// the missing functions or with NVML's error.
Nvml load_nvml(const FindFunction& find, std::string_view path);

/// NVML of this process, loaded by the first successful call. Throws as load_nvml(), and
/// Error(unavailable) if there is no library. Thread-safe.
const Nvml& nvml();

/// Unknown facts have no value.
struct GpuFacts {
  std::string driver;  ///< "580.65.06"; "" if unknown
  std::optional<std::uint64_t>
      bar1_bytes;  ///< limit of the memory that NICs can access by PCIe at a time
  std::optional<std::uint64_t> bar1_free_bytes;
  std::optional<unsigned> pcie_generation;      ///< current; an idle GPU lowers it
  std::optional<unsigned> max_pcie_generation;  ///< of GPU and slot together
  std::optional<unsigned> pcie_width;           ///< lanes
  std::optional<unsigned> max_pcie_width;
  std::optional<bool> c2c;  ///< whether NVLink-C2C to the CPU is up
};

/// Facts of the GPU at a PCI address. Throws as nvml(), and Error(unavailable) if NVML does not
/// know the GPU.
GpuFacts read_gpu_facts(std::string_view pci_address);

/// "driver 580.65.06, PCIe generation 5 of 5, 16 lanes of 16, BAR1 128G"; without unknown
/// facts.
std::string to_text(const GpuFacts& facts);

}  // namespace rdmabench::gpu
