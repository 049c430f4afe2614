#include "transport/ofi/offload.h"

#include <cerrno>

#include "fits.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

std::optional<bool> offloaded(const Options& options, Option emulated) {
  bool value = false;
  if (options.get(emulated, value) != 0) return std::nullopt;
  return !value;
}

/// Whether the endpoint could do so; it is left without.
std::optional<bool> tried(const Options& options, Option option) {
  const int result = options.set(option, true);
  if (result == 0) {
    options.set(option, false);
    return true;
  }
  if (result == -EOPNOTSUPP) return false;
  return std::nullopt;
}

std::string word(std::optional<bool> fact, std::string_view yes, std::string_view no) {
  return std::string(!fact.has_value() ? "unknown" : *fact ? yes : no);
}

}  // namespace

Offload settle_offload(const Options& options, bool shared_memory) {
  Offload offload;
  refresh_offload(options, offload);
  if (options.set(Option::shared_memory, shared_memory) == 0) {
    offload.shared_memory = shared_memory;
  }
  offload.in_order_writes = tried(options, Option::in_order_writes);
  offload.in_order_sends = tried(options, Option::in_order_sends);
  return offload;
}

void refresh_offload(const Options& options, Offload& offload) {
  offload.reads = offloaded(options, Option::emulated_read);
  offload.writes = offloaded(options, Option::emulated_write);
  offload.atomics = offloaded(options, Option::emulated_atomics);
}

std::string_view granted_level(const Offload& offload, std::string_view provider,
                               std::string_view fabric, OperationSet operations) {
  const std::string_view core = core_of(provider);
  const bool device = operations.any(is_write) && offload.writes.value_or(true);
  if (core == "efa" && (fabric == kDeviceAlone || device)) return "acknowledged";
  if (provider.ends_with(";ofi_rxm") && operations.any(is_two_sided)) return "transmit";
  if (core == "verbs" || core == "opx") return "acknowledged";
  return "delivery";
}

std::vector<std::pair<std::string, std::string>> offload_facts(const Offload& offload,
                                                               std::string_view provider,
                                                               OperationSet operations) {
  const bool software = is_socket_provider(provider);
  const auto one_sided = [&](std::optional<bool> fact) {
    return word(software ? std::optional(false) : fact, "offloaded", "emulated");
  };
  std::vector<std::pair<std::string, std::string>> facts;
  const std::string write = one_sided(offload.writes);
  const std::string read = one_sided(offload.reads);
  const std::string atomics = one_sided(offload.atomics);
  if (operations.any(is_atomic)) {
    facts.emplace_back("one_sided", atomics);
  } else if (operations.any(
                 [](OperationCode code) { return is_from_target(code) && !is_atomic(code); })) {
    facts.emplace_back("one_sided", read);
  } else if (operations.any(is_write)) {
    facts.emplace_back("one_sided", write);
  }
  facts.emplace_back("rdma_write", write);
  facts.emplace_back("rdma_read", read);
  facts.emplace_back("atomics", atomics);
  // By efa_both_support_rdma_read() and _write(), which no option tells.
  if (offload.reads.value_or(false) || offload.writes.value_or(false)) {
    facts.emplace_back("offload_told_by",
                       "this side alone: efa emulates what the peer's device lacks");
  }
  // efa alone switches to shared memory behind the caller's back; shm is nothing else.
  const bool efa = core_of(provider) == "efa";
  const std::optional<bool> short_cut = efa ? offload.shared_memory : core_of(provider) == "shm";
  facts.emplace_back("shm_short_cut", word(short_cut, "yes", "no"));
  const bool sends = operations.any(is_two_sided);
  facts.emplace_back("in_order_128",
                     word(sends ? offload.in_order_sends : offload.in_order_writes, "yes", "no"));
  return facts;
}

}  // namespace rdmabench::inline v1::transport::ofi
