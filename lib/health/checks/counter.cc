// Counters of the ports since their driver was loaded.
//
// The time of an event is unknown. So nothing here FAILs, and errors are judged by their number per
// day of the node's uptime, an upper bound of the counting time. Changes during a run: see
// health/counters.h.
#include <algorithm>
#include <array>

#include "check.h"
#include "health/counter_names.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr double kSecondsPerDay = 86400;

/// rdma-core's infiniband-diags/etc/error_thresholds has these numbers, of all since a reset. That
/// they are for a day is a rule of thumb.
constexpr int kErrorsPerDay = 10;
constexpr int kDiscardsPerDay = 100;

void per_day(Probe& probe, std::string_view what, std::uint64_t count, double most) {
  const auto up = uptime_s(probe);
  if (!up || *up <= 0) return probe.skip("the node does not report how long it has been up");
  const double days = std::max(*up / kSecondsPerDay, 1.0);
  probe.judge_by(static_cast<double>(count) <= most * days, Status::warn,
                 fmt::format("{} {} in at most {:.1f} days", count, what, *up / kSecondsPerDay),
                 fmt::format("at most {:g} a day", most), Source::standard);
}

/// A text as an argument of a template.
template <std::size_t kSize>
struct FileName {
  // NOLINTNEXTLINE(google-explicit-constructor): a row has the text.
  constexpr FileName(const char (&file)[kSize]) { std::copy_n(file, kSize, text); }
  char text[kSize];
};

/// Of a port's folder "counters"; none, with a verdict, if it cannot be read, or if the driver has
/// none: older kernels then write "N/A (no PMA)" (drivers/infiniband/core/sysfs.c).
std::optional<std::uint64_t> counter_of(Probe& probe, const RdmaPort& port, std::string_view name) {
  const std::string path = fmt::format("{}/counters/{}", port.folder, name);
  if (!probe.try_line(path).starts_with("N/A")) return probe.number(path);
  probe.skip("the driver does not count it");
  return std::nullopt;
}

template <FileName kFile, int kMostPerDay>
void port_counter(Probe& probe, const RdmaPort& port) {
  const auto count = counter_of(probe, port, kFile.text);
  if (count) per_day(probe, kFile.text, *count, kMostPerDay);
}

void constraint(Probe& probe, const RdmaPort& port) {
  const auto sent = counter_of(probe, port, "port_xmit_constraint_errors");
  if (!sent) return;
  const auto received = counter_of(probe, port, "port_rcv_constraint_errors");
  if (received) per_day(probe, "constraint errors", *sent + *received, kDiscardsPerDay);
}

void xmit_wait(Probe& probe, const RdmaPort& port) {
  const auto waited = counter_of(probe, port, "port_xmit_wait");
  if (!waited) return;
  const auto words = counter_of(probe, port, "port_xmit_data");
  if (!words) return;
  probe.observe(fmt::format("waited {} ticks to send {} words", *waited, *words));
  probe.expect("fewer ticks of waiting than words sent", Source::derived);
  constexpr std::uint64_t kTooFew = 1000000;
  if (*words < kTooFew) return probe.skip("too little was sent to judge it");
  probe.judge_by(*waited < *words, Status::warn);
}

/// The largest of the device's counters of a class, or of some names. Not the sum: two files may
/// count the same event.
struct Largest {
  bool any = false;
  std::string name;
  std::uint64_t value = 0;
};

template <class Wanted>
Largest largest(Probe& probe, const RdmaPort& port, Wanted wanted) {
  Largest most;
  for (const std::string& folder : {port.folder, port.device->folder}) {
    for (const std::string& file : probe.list(folder + "/hw_counters")) {
      const CounterFile* const row = find_counter(port.device->driver, file);
      if (row == nullptr || !wanted(*row)) continue;
      const auto value = probe.try_number(folder + "/hw_counters/" + file);
      if (!value) continue;
      if (!most.any || *value > most.value) most = {true, file, *value};
    }
  }
  return most;
}

bool is_class(const CounterFile& row, CounterClass kind) {
  const NeutralName* const neutral = find_neutral(row.neutral);
  return neutral != nullptr && neutral->kind == kind;
}

/// How many packets the port has sent; 0 where there is no such counter.
std::uint64_t packets_sent(Probe& probe, const RdmaPort& port) {
  if (const auto sent = probe.try_number(port.folder + "/counters/port_xmit_packets")) return *sent;
  return largest(probe, port, [](const CounterFile& row) { return row.neutral == "sent_packets"; })
      .value;
}

void share_of_packets(Probe& probe, const RdmaPort& port, const Largest& most, double limit) {
  if (!most.any) return probe.skip("the device counts nothing of the kind");
  const std::uint64_t sent = packets_sent(probe, port);
  probe.observe(fmt::format("{} = {} of {} packets", most.name, most.value, sent));
  probe.expect(fmt::format("at most one in {:g} packets", 1 / limit), Source::standard);
  constexpr std::uint64_t kTooFew = 100000;
  if (most.value == 0) return probe.pass();
  if (sent < kTooFew) return probe.skip("too few packets were sent to judge it");
  probe.judge_by(static_cast<double>(most.value) <= limit * static_cast<double>(sent),
                 Status::warn);
}

/// Not what came out of sequence: with adaptive routing that is how packets come, and nothing was
/// lost.
void retransmissions(Probe& probe, const RdmaPort& port) {
  share_of_packets(probe, port,
                   largest(probe, port,
                           [](const CounterFile& row) {
                             return is_class(row, CounterClass::retransmission) &&
                                    row.neutral != "out_of_sequence_received" &&
                                    row.neutral != "read_responses_out_of_sequence";
                           }),
                   1e-5);
}

void not_ready(Probe& probe, const RdmaPort& port) {
  share_of_packets(probe, port,
                   largest(probe, port,
                           [](const CounterFile& row) {
                             return is_class(row, CounterClass::receiver_not_ready);
                           }),
                   1e-3);
}

void damaged(Probe& probe, const RdmaPort& port) {
  const Largest most =
      largest(probe, port, [](const CounterFile& row) { return row.neutral == "icrc_errors"; });
  if (!most.any) return probe.skip("the device counts nothing of the kind");
  per_day(probe, most.name, most.value, 0);
}

void given_up(Probe& probe, const RdmaPort& port) {
  const Largest most = largest(probe, port, [](const CounterFile& row) {
    return row.neutral == "ack_retries_exceeded" || row.neutral == "rnr_retries_exceeded";
  });
  if (!most.any) return probe.skip("the device counts nothing of the kind");
  per_day(probe, most.name, most.value, kErrorsPerDay);
}

template <FileName kFile, int kMostPerDay>
void interface_counter(Probe& probe, const RdmaPort& port) {
  if (port.interface.empty()) return probe.skip("no network device belongs to the port");
  const auto count = probe.number("sys/class/net/" + port.interface + "/statistics/" + kFile.text);
  if (count) per_day(probe, kFile.text, *count, kMostPerDay);
}

void uncorrected(Probe& probe, const RdmaPort& port) {
  if (!port.roce()) return probe.skip("only Ethernet ports report it here");
  const auto fact = ethernet_fact(probe, port, "fec");
  if (!fact) return;
  const auto count = to_number(value_of_word(*fact, "uncorrected"));
  if (!count) return probe.skip("the driver does not count them");
  per_day(probe, "uncorrectable blocks", *count, kDiscardsPerDay);
}

constexpr std::string_view kBadLink =
    "The link is bad: clean or reseat the transceiver, then change the cable.";
constexpr std::string_view kThresholds =
    "rdma-core infiniband-diags/etc/error_thresholds, whose numbers are of all since a reset: the day is a rule of thumb";

constexpr auto kCounterRows = std::to_array<Check>({
    {{.id = "counter.symbol_error",
      .title = "Symbol errors",
      .reads = "P/counters/symbol_error, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 10 a day",
      .remedy = kBadLink,
      .source = kThresholds,
      .action = action::kReplaceCable},
     port_counter<"symbol_error", kErrorsPerDay>},
    {{.id = "counter.link_error_recovery",
      .title = "Link recoveries",
      .reads = "P/counters/link_error_recovery, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 10 a day",
      .remedy = kBadLink,
      .source = kThresholds,
      .action = action::kReplaceCable},
     port_counter<"link_error_recovery", kErrorsPerDay>},
    {{.id = "counter.link_downed",
      .title = "Link failures",
      .reads = "P/counters/link_downed, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 10 a day",
      .remedy = kBadLink,
      .source = kThresholds,
      .action = action::kReplaceCable},
     port_counter<"link_downed", kErrorsPerDay>},
    {{.id = "counter.receive_errors",
      .title = "Packets received with an error",
      .reads = "P/counters/port_rcv_errors, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 10 a day",
      .remedy = kBadLink,
      .source = kThresholds,
      .action = action::kReplaceCable},
     port_counter<"port_rcv_errors", kErrorsPerDay>},
    {{.id = "counter.remote_physical",
      .title = "Packets damaged elsewhere in the fabric",
      .reads = "P/counters/port_rcv_remote_physical_errors, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 100 a day; this node is not to blame",
      .remedy =
          "This node is not at fault: another link of the fabric damaged them. Find it by the symbol errors of the "
          "switches (ibqueryerrors).",
      .source = kThresholds,
      .action = action::kInvestigate},
     port_counter<"port_rcv_remote_physical_errors", kDiscardsPerDay>},
    {{.id = "counter.link_integrity",
      .title = "Link integrity errors",
      .reads = "P/counters/local_link_integrity_errors, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 10 a day",
      .remedy = kBadLink,
      .source = kThresholds,
      .action = action::kReplaceCable},
     port_counter<"local_link_integrity_errors", kErrorsPerDay>},
    {{.id = "counter.buffer_overrun",
      .title = "Buffer overruns",
      .reads = "P/counters/excessive_buffer_overrun_errors, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 10 a day",
      .remedy =
          "Flow control fails on this link: look at the virtual lanes of both ends, and at the cable.",
      .source = kThresholds,
      .action = action::kInvestigate},
     port_counter<"excessive_buffer_overrun_errors", kErrorsPerDay>},
    {{.id = "counter.constraint",
      .title = "Partition violations",
      .reads = "P/counters/port_{xmit,rcv}_constraint_errors, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 100 a day",
      .remedy = "Somebody uses a partition key that is not allowed here: look at the partitions.",
      .source = kThresholds,
      .action = action::kInvestigate},
     constraint},
    {{.id = "counter.transmit_discards",
      .title = "Packets not sent",
      .reads = "P/counters/port_xmit_discards, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 100 a day",
      .remedy = "The port was down or congested: look for a slow receiver behind it.",
      .source = kThresholds,
      .action = action::kInvestigate},
     port_counter<"port_xmit_discards", kDiscardsPerDay>},
    {{.id = "counter.transmit_wait",
      .title = "Waiting for credits",
      .reads = "P/counters/{port_xmit_wait,port_xmit_data}",
      .rests_on = "port.state",
      .rule = "WARN if ticks waited exceed words sent",
      .remedy =
          "The fabric behind this port is congested, or a receiver is slow: look at its counters.",
      .source = "sysfs-class-infiniband; the ratio is a rule of thumb",
      .action = action::kInvestigate},
     xmit_wait},
    {{.id = "counter.retransmissions",
      .title = "Packets sent again",
      .reads = "P/hw_counters, P/counters/port_xmit_packets",
      .rests_on = "port.state",
      .rule = "WARN above 1 in 100,000 packets, but for what only came out of sequence",
      .remedy =
          "Packets are lost: look at PFC and ECN of RoCE, at discards of the switches, at cables.",
      .source = "docs/counters.md; the share is a rule of thumb",
      .action = action::kInvestigate},
     retransmissions},
    {{.id = "counter.receiver_not_ready",
      .title = "Receivers without a buffer",
      .reads = "P/hw_counters, P/counters/port_xmit_packets",
      .rests_on = "port.state",
      .rule = "WARN above 1 in 1,000 packets",
      .remedy = "A program posts too few receives; the network is not to blame.",
      .source = "docs/counters.md; the share is a rule of thumb",
      .action = action::kInvestigate},
     not_ready},
    {{.id = "counter.damaged",
      .title = "Packets with a wrong checksum",
      .reads = "P/hw_counters, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 0",
      .remedy =
          "Something on the way damages packets after the link's checksum: a switch or a card.",
      .source = "docs/counters.md",
      .action = action::kInvestigate},
     damaged},
    {{.id = "counter.given_up",
      .title = "Connections given up",
      .reads = "P/hw_counters, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 10 a day",
      .remedy = "Peers did not answer: nodes that died, or a path that loses everything.",
      .source = "docs/counters.md",
      .action = action::kInvestigate},
     given_up},
    {{.id = "counter.crc",
      .title = "Ethernet frames with a wrong checksum",
      .reads = "N/statistics/rx_crc_errors, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 10 a day",
      .remedy = kBadLink,
      .source = "Linux sysfs-class-net-statistics",
      .action = action::kReplaceCable},
     interface_counter<"rx_crc_errors", kErrorsPerDay>},
    {{.id = "counter.missed",
      .title = "Frames that found no buffer in the host",
      .reads = "N/statistics/rx_missed_errors, proc/uptime",
      .rests_on = "port.state",
      .rule = "WARN above 100 a day",
      .remedy = "Enlarge the receive rings: ethtool -G IF rx N.",
      .source = "Linux sysfs-class-net-statistics"},
     interface_counter<"rx_missed_errors", kDiscardsPerDay>},
    {{.id = "counter.fec",
      .title = "Blocks that FEC could not correct",
      .reads = "ethtool, proc/uptime",
      .rests_on = "port.state",
      .rule = "RoCE: WARN above 100 a day",
      .remedy = kBadLink,
      .source = "IEEE 802.3-2022, 30.5.1.1.18; the number is a rule of thumb",
      .action = action::kReplaceCable},
     uncorrected},
});

}  // namespace

constinit const std::span<const Check> kCounterChecks = kCounterRows;

}  // namespace rdmabench::inline v1::health
