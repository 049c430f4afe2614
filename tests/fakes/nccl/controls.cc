#include "controls.h"

#include <cstdlib>
#include <vector>

namespace fake_nccl {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Fault fault(const char* name, int rank) {
  const std::string text = environment(name);
  std::vector<std::uint64_t> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    parts.push_back(std::strtoull(text.substr(begin, end - begin).c_str(), nullptr, 10));
    begin = end + 1;
  }
  parts.resize(3 > parts.size() && !parts.empty() ? 3 : parts.size());
  if (parts.empty() || parts[0] != static_cast<std::uint64_t>(rank)) return {};
  return {true, parts[1], parts[2]};
}

}  // namespace

Controls controls(int rank) {
  Controls out;
  if (const std::string version = environment("FAKE_NCCL_VERSION"); !version.empty()) {
    out.version = std::atoi(version.c_str());
  }
  out.corrupt = fault("FAKE_NCCL_CORRUPT", rank);
  out.stall = fault("FAKE_NCCL_STALL", rank);
  out.async_error = fault("FAKE_NCCL_ASYNC_ERROR", rank);
  out.init = fault("FAKE_NCCL_INIT_HANG", rank);
  out.block = fault("FAKE_NCCL_BLOCK", rank);
  out.slow_enqueue = environment("FAKE_NCCL_SLOW_ENQUEUE") == "1";
  const std::string refuse = environment("FAKE_NCCL_REFUSE");
  const std::size_t colon = refuse.find(':');
  out.refuse = refuse.substr(0, colon);
  if (colon != std::string::npos) out.refusal = std::atoi(refuse.c_str() + colon + 1);
  out.choice = environment("FAKE_NCCL_CHOICE");
  out.trace = environment("FAKE_NCCL_TRACE");
  return out;
}

}  // namespace fake_nccl
