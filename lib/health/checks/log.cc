// What the kernel's log says of NICs, GPUs and links, since the node booted.
#include "../kernel_log.h"
#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

/// The worst known line of one source decides; the last one of these is shown.
template <LogSource kSource>
void log_of(Probe& probe) {
  const auto text = probe.text("rdmabench/kernel_log");
  if (!text) return;
  std::optional<KnownLine> worst;
  std::string shown;
  std::size_t lines = 0;
  for (const std::string& line : lines_of(*text)) {
    const std::optional<KnownLine> known = known_line(line);
    if (!known || known->source != kSource) continue;
    ++lines;
    if (worst && worst->status == Status::fail && known->status != Status::fail) continue;
    worst = known;
    shown = line;
  }
  probe.expect("no line of a fault since the node booted, or dmesg --clear", Source::standard);
  if (!worst) {
    probe.observe("none");
    return probe.pass();
  }
  probe.observe(fmt::format("{} in {} line{}, last: {}", worst->meaning, lines,
                            lines == 1 ? "" : "s", shown));
  probe.action(worst->action);
  worst->status == Status::fail ? probe.fail(worst->remedy) : probe.warn(worst->remedy);
}

constexpr std::string_view kReads = "/dev/kmsg";

/// `source` has what each line means.
constexpr Check log_check(std::string_view id, std::string_view title, std::string_view rule,
                          std::string_view source, NodeCheck run) {
  return {{.id = id,
           .title = title,
           .reads = kReads,
           .rule = rule,
           .remedy = "What the line means is in the finding.",
           .source = source,
           .root = true},
          run};
}

constexpr auto kLogRows = std::to_array<Check>({
    log_check(
        "log.mlx5", "The kernel's log of mlx5",
        "FAIL: firmware or device stopped or not started, command unanswered, bad or refused cable, "
        "a port without power, critical heat; WARN: heat, slot power, a reset, a stalled queue",
        "Linux mlx5/core/{health,events,cmd}.c", log_of<LogSource::mlx5>),
    log_check(
        "log.bnxt", "The kernel's log of bnxt",
        "FAIL: firmware stopped or reset, command unanswered, device not started; WARN: heat, a "
        "stalled queue, a reset that it survived",
        "Linux bnxt/{bnxt,bnxt_hwrm}.c, bnxt_re/qplib_rcfw.c", log_of<LogSource::bnxt>),
    log_check("log.efa", "The kernel's log of EFA",
              "FAIL: the device does not answer, or was not started", "Linux efa_com.c",
              log_of<LogSource::efa>),
    log_check(
        "log.intel", "The kernel's log of ice and irdma",
        "FAIL: device lost or not started; WARN: a reset, no DDP package, a queue was stopped, a queue "
        "pair failed",
        "Linux ice_main.c, irdma/{hw,main}.c", log_of<LogSource::intel>),
    log_check(
        "log.xid", "The kernel's log of NVIDIA's GPUs",
        "FAIL: a GPU that left the bus or did not start; by the Xid's number: FAIL if a reset or a "
        "reboot is due at once, WARN else, but for those without harm",
        "NVIDIA Xid catalog", log_of<LogSource::gpu>),
    log_check(
        "log.sxid", "The kernel's log of NVLink's switches",
        "FAIL: fatal, or a switch, its processor or a module stopped; WARN: non-fatal, heat, but for "
        "those that NVIDIA calls harmless",
        "NVIDIA Fabric Manager user guide", log_of<LogSource::nvswitch>),
    log_check(
        "log.pcie", "The kernel's log of PCIe",
        "FAIL: uncorrected and fatal; WARN: uncorrected and not fatal, many corrected, a link cut off",
        "Linux pcie/{aer,dpc}.c", log_of<LogSource::pcie>),
});

}  // namespace

constinit const std::span<const Check> kLogChecks = kLogRows;

}  // namespace rdmabench::inline v1::health
