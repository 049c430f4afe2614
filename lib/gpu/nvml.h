// What NVML knows of a GPU and the CUDA driver does not.
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

/// Fills the table and initialises NVML. Throws Error(unavailable) that names each function that is
/// missing, or says what NVML said. `path` is told in the errors.
Nvml load_nvml(const FindFunction& find, std::string_view path);

/// Of this process, loaded with the first call that succeeds. Throws as load_nvml() does, and
/// Error(unavailable) where there is no library. Thread rule: any.
const Nvml& nvml();

/// What is not told has no value.
struct GpuFacts {
  std::string driver;                       ///< "580.65.06"; "" if not told
  std::optional<std::uint64_t> bar1_bytes;  ///< all that NICs can be given at a time by PCIe
  std::optional<std::uint64_t> bar1_free_bytes;
  std::optional<unsigned> pcie_generation;      ///< now; a GPU at rest lowers it
  std::optional<unsigned> max_pcie_generation;  ///< of GPU and slot together
  std::optional<unsigned> pcie_width;           ///< lanes
  std::optional<unsigned> max_pcie_width;
  std::optional<bool> c2c;  ///< whether NVLink-C2C to the CPU is up
};

/// Of the GPU at a PCI address. Throws as nvml() does, Error(unavailable) where NVML knows no such
/// GPU.
GpuFacts read_gpu_facts(std::string_view pci_address);

/// "driver 580.65.06, PCIe generation 5 of 5, 16 lanes of 16, BAR1 128G"; what is not told is left
/// out.
std::string to_text(const GpuFacts& facts);

}  // namespace rdmabench::gpu
