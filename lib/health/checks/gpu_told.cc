#include "gpu_told.h"

#include "../firmware.h"

namespace rdmabench::inline v1::health {

std::string no_answer(Probe& probe) {
  const std::string line = probe.try_line(std::string(kNvmlFile));
  if (line.empty())
    return "NVML was not asked: the GPU has not NVIDIA's driver, or the tree is older";
  if (line.starts_with(kNotTold)) return line.substr(kNotTold.size());
  return line == "init=0" ? "" : fmt::format("NVML does not start: {}", line);
}

std::string line_told(Probe& probe, const Gpu& gpu, std::string_view key) {
  for (std::string& line : lines_of(probe.try_text("rdmabench/gpu/" + gpu.pci.address))) {
    if (line.starts_with(key) && line.substr(key.size()).starts_with(' ')) return std::move(line);
  }
  return "";
}

std::optional<std::string> fact(Probe& probe, const Gpu& gpu, std::string_view key) {
  if (!gpu.nvidia) {
    probe.skip("only NVIDIA's GPUs are asked");
    return std::nullopt;
  }
  std::string line = line_told(probe, gpu, key);
  if (!line.empty()) return line;
  const bool asked = !probe.try_text("rdmabench/gpu/" + gpu.pci.address).empty();
  std::string why = asked ? "" : no_answer(probe);
  probe.skip(why.empty() ? "this GPU or its driver does not tell" : std::move(why));
  return std::nullopt;
}

std::optional<std::uint64_t> number_of(Probe& probe, const std::string& line,
                                       std::string_view key) {
  const std::string text = value_of_word(line, key);
  const auto value = text.starts_with("0x") ? hex_number(text) : to_number(text);
  if (!value) probe.error(fmt::format("'{}' has no number {}", line, key));
  return value;
}

}  // namespace rdmabench::inline v1::health
