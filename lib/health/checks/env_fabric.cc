// Variables of libfabric and rdma-core.
#include <algorithm>
#include <array>

#include "env.h"

namespace rdmabench::inline v1::health {
namespace {

/// A list of providers, "^" for all others; "verbs;ofi_rxm" takes verbs. Source: libfabric
/// src/fabric.c, ofi_create_filter() and ofi_apply_prov_init_filter().
void fabric_provider(Probe& probe) {
  const auto text = value(probe, "FI_PROVIDER", "one that uses the RDMA device");
  if (!text) return;
  if (probe.node().devices.empty() || text->empty()) return probe.pass();
  std::string_view list = *text;
  const bool others = list.starts_with('^');
  if (others) list.remove_prefix(1);
  static constexpr std::array<std::string_view, 8> kSlow{"tcp", "udp", "sockets", "shm",
                                                         "sm2", "net", "ofi_rxm", "ofi_rxd"};
  const bool efa = std::all_of(probe.node().devices.begin(), probe.node().devices.end(),
                               [](const RdmaDevice& device) { return device.driver == "efa"; });
  bool fast = false;
  bool excluded = false;
  for (const std::string& part : parts_of(list)) {
    for (const std::string_view name : split(part, ';')) {
      const bool slow = std::any_of(kSlow.begin(), kSlow.end(),
                                    [&](std::string_view one) { return same_letters(one, name); });
      fast = fast || !slow;
    }
    excluded = excluded || same_letters(part, efa ? "efa" : "verbs");
  }
  probe.judge_by(others ? !excluded : fast, Status::warn);
}

/// As fi_parse_bool() of libfabric's src/var.c reads it; none for another text, which is ignored.
std::optional<bool> fabric_bool(std::string_view text) {
  for (const std::string_view off : {"0", "false", "no", "off"}) {
    if (same_letters(text, off)) return false;
  }
  for (const std::string_view on : {"1", "true", "yes", "on"}) {
    if (same_letters(text, on)) return true;
  }
  return std::nullopt;
}

void efa_rdma(Probe& probe) {
  const auto text = value(probe, "FI_EFA_USE_DEVICE_RDMA", "not set, or 1");
  if (!text) return;
  const auto& devices = probe.node().devices;
  const bool efa = std::any_of(devices.begin(), devices.end(),
                               [](const RdmaDevice& device) { return device.driver == "efa"; });
  if (!efa) return probe.pass();
  const auto on = fabric_bool(*text);
  if (!on) return blame(probe, "FI_EFA_USE_DEVICE_RDMA", *text, "which libfabric ignores");
  probe.judge_by(*on, Status::warn);
}

/// The libraries ask the kernel first whether it copies on fork, and then do nothing. Source:
/// rdma-core libibverbs/memory.c, libfabric prov/efa/src/efa_fork_support.c.
void fork_safe(Probe& probe) {
  std::string on;
  if (!looked(probe)) return;
  for (const std::string_view name :
       {"RDMAV_FORK_SAFE", "IBV_FORK_SAFE", "FI_EFA_FORK_SAFE", "RDMAV_HUGEPAGES_SAFE"}) {
    const auto text = environment(probe, name);
    if (!text) continue;
    const bool set = name.starts_with("FI_") ? fabric_bool(*text).value_or(false)
                                             : name.ends_with("HUGEPAGES_SAFE") || *text != "0";
    if (set) add_to(on, fmt::format("{}={}", name, *text));
  }
  probe.observe(on.empty() ? "not set" : on);
  probe.expect("not set, or a kernel that copies pages on fork, from 5.12 on", Source::standard);
  if (on.empty() || kernel_is(probe, 5, 12)) return probe.pass();
  const std::string release = probe.try_line("proc/sys/kernel/osrelease");
  if (release.empty() || release.find(".el") != std::string::npos) {
    return probe.skip(
        "this kernel may copy pages on fork: Red Hat brought that back to older ones");
  }
  probe.warn();
}

/// mlx5 takes no locks then. Source: rdma-core providers/mlx5/mlx5.c, single_threaded_app().
void single_threaded(Probe& probe) {
  if (const auto text = value(probe, "MLX5_SINGLE_THREADED", "not set, or not 1")) {
    probe.judge_by(*text != "1", Status::warn);
  }
}

constexpr auto kFabricRows = std::to_array<Check>({
    {{.id = "env.fi_provider",
      .title = "FI_PROVIDER",
      .reads = kEnvironment,
      .rule = "WARN if it leaves no provider that uses a device",
      .remedy = "unset FI_PROVIDER, or name the device's provider: efa, verbs;ofi_rxm.",
      .source = "libfabric src/fabric.c; fi_provider(7)",
      .compares = true},
     fabric_provider},
    {{.id = "env.efa_device_rdma",
      .title = "FI_EFA_USE_DEVICE_RDMA",
      .reads = kEnvironment,
      .rule = "EFA: WARN if off, or no value that libfabric knows",
      .remedy = "unset FI_EFA_USE_DEVICE_RDMA: without it reads and writes are emulated.",
      .source = "libfabric prov/efa/src/efa_env.h, src/var.c",
      .compares = true},
     efa_rdma},
    {{.id = "env.fork_safe",
      .title = "Fork safety",
      .reads = "environment, proc/sys/kernel/osrelease",
      .rule =
          "kernels before 5.12: WARN if RDMAV_FORK_SAFE, IBV_FORK_SAFE, FI_EFA_FORK_SAFE or RDMAV_HUGEPAGES_SAFE is on",
      .remedy = "unset it: it makes registration slower, and forbids huge pages to some.",
      .source = "rdma-core libibverbs/memory.c; libfabric prov/efa/src/efa_fork_support.c",
      .compares = true},
     fork_safe},
    {{.id = "env.single_threaded",
      .title = "MLX5_SINGLE_THREADED",
      .reads = kEnvironment,
      .rule = "WARN if 1: mlx5 takes no locks",
      .remedy = "unset MLX5_SINGLE_THREADED, but for a program with one thread.",
      .source = "rdma-core providers/mlx5/mlx5.c",
      .compares = true},
     single_threaded},
});

}  // namespace

constinit const std::span<const Check> kFabricChecks = kFabricRows;

}  // namespace rdmabench::inline v1::health
