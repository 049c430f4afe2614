// What NVIDIA's management library told of its GPUs (nvml.h), a line for each fact. Private to this
// room.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "check.h"

namespace rdmabench::inline v1::health {

inline constexpr std::string_view kNvmlFile = "rdmabench/nvml";

inline constexpr std::string_view kFromNvml = "NVML, in a process of its own";
inline constexpr std::string_view kNvmlGuide = "NVML API Reference Guide; nvml.h";

/// None where the library answered; else what it, or nobody, said.
std::string no_answer(Probe& probe);

/// A line of the GPU's facts, without a verdict; "" where there is none.
std::string line_told(Probe& probe, const Gpu& gpu, std::string_view key);

/// The same; none, with the finding SKIP, where there is none.
std::optional<std::string> fact(Probe& probe, const Gpu& gpu, std::string_view key);

/// A number of such a line; none, with an ERROR, where it is none.
std::optional<std::uint64_t> number_of(Probe& probe, const std::string& line, std::string_view key);

/// Several of them; none is missing.
template <std::size_t n>
std::optional<std::array<std::uint64_t, n>> numbers(Probe& probe, const Gpu& gpu,
                                                    std::string_view fact_key,
                                                    const std::array<std::string_view, n>& keys) {
  const auto line = fact(probe, gpu, fact_key);
  if (!line) return std::nullopt;
  std::array<std::uint64_t, n> values{};
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = number_of(probe, *line, keys[i]);
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  return values;
}

}  // namespace rdmabench::inline v1::health
