#include "flag_table.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace rdmabench::inline v1::tools::perftest {
namespace {

// Between whom, and over which path.

using Number = report::PerftestNumber;

void set_link(Flags& flags, const Given& given) {
  if (given.text != "IB" && given.text != "ETHERNET") refuse_word(given, "IB or ETHERNET");
  flags.notes.emplace_back("--force-link is not needed: the port reports its link layer");
}

constexpr Flag kPathFlags[] = {
    mapped("-p, --port=number", kAll, "--port", "guest", set<&Flags::port, 1, 65535>, "port"),
    mapped("-d, --ib-dev=name", kAll, "--device", "guest", set<&Flags::device>, "devices"),
    mapped("-i, --ib-port=number", kAll, "--device NAME:PORT", "guest",
           set<&Flags::ib_port, 1, 255>),
    same("-x, --gid-index=index", "gid_index", kAll,
         "--gid-index; without it, chosen by the route to the peer", "guest"),
    same("-m, --mtu=bytes", "mtu", kAll, "--mtu", "guest"),
    same("-S, --sl=level", "service_level", kAll, "--sl", "guest"),
    same("-u, --qp-timeout=exponent", "qp_timeout", kAll, "--qp-timeout", "guest"),
    same("--retry_count=count", "retry_count", kAll, "--retry-count; without -R too", "guest"),
    same("-T, --tos=value", "traffic_class", kAll, "--tclass; without -R too", "guest"),
    same("--tclass=value", "traffic_class", kAll, "--tclass", "guest"),
    same("--flow_label=label", "flow_label", kAll, "--flow-label, one for all queue pairs",
         "guest"),
    same("-L, --hop_limit=hops", "hop_limit", kAll,
         "--hop-limit; perftest has it for raw Ethernet only", "guest"),
    same("--pkey_index=index", "partition_index", kAll, "--pkey-index", "guest"),
    refused("--dlid=lid", kAll, "Leave it out: the peer sends its LID."),
    same("-R, --rdma_cm", "rdma_cm", kAll, "--rdma-cm", "guest"),
    ignored("-z, --comm_rdma_cm", kAll,
            "the two sides negotiate over TCP; the queue pairs are the same", "guest"),
    mapped("--ipv6", kAll, "--gid-index ipv6", "guest",
           [](Flags& f, const Given& /*g*/) {
             f.config.placement.gid_index = transport::kAnyIpv6Gid;
           }),
    not_needed("+ --ipv6-addr", kAll, "a host is reached over IPv4 or IPv6, as its name resolves",
               "guest"),
    refused("+ --bind_source_ip=address", kAll,
            "Leave it out and name the device by -d: addresses follow the route to the host."),
    mapped("--force-link=type", kAll, "checked, with a note: the port reports its link layer",
           "guest", set_link),
    not_needed("--dont_xchg_versions", kAll,
               "versions are always compared; equal versions never end a run", "unit"),
    refused("--wait_destroy=seconds", kBw,
            "Leave it out: to see live objects, use 'rdma resource show' during a run with -D."),
};

// What is printed, and which result is a failure.

/// "hw_counters/a,counters/b"
void set_counters(Flags& flags, const Given& given) {
  flags.counters.clear();
  std::string_view names = given.text;
  if (names.ends_with(',')) names.remove_suffix(1);  // as perftest takes it
  for (const std::string_view name : split(names, ',')) {
    if (name.empty()) refuse_word(given, "names of counters, separated by commas");
    flags.counters.emplace_back(name);
  }
}

constexpr std::string_view kNoSamples =
    "Use 'rdmabench lat HOST --format json': it has percentiles up to p99.99 over all samples. Single "
    "samples are not stored.";

constexpr Flag kReportFlags[] = {
    mapped("--report_gbits", kAll, "Gb/s (10^9) and not MiB/s", "guest", set<&Flags::gigabits>),
    mapped("--output=what", kAll,
           "one number on standard output, everything else on standard error", "guest",
           [](Flags& f, const Given& g) {
             f.one_number = choice<Number>(g, {{"bandwidth", Number::bandwidth},
                                               {"message_rate", Number::message_rate},
                                               {"latency", Number::latency}});
           }),
    mapped("--out_json", kAll, "valid JSON with the newest release's keys and all sizes", "guest",
           set<&Flags::json>),
    mapped("--out_json_file=file", kAll, "the file of --out_json; default: perftest_out.json",
           "guest", set<&Flags::json_file>),
    mapped("-N, --noPeak", kBw, "the peak is printed as 0.00", "guest",
           [](Flags& f, const Given& /*g*/) { f.peak = false; }),
    mapped("-C, --report-cycles", kLat, "ticks of the clock in use; the heading says cycles",
           "guest", set<&Flags::cycles>),
    refused("-H, --report-histogrm", kLat, kNoSamples),
    refused("-U, --report-unsorted", kLat, kNoSamples),
    refused(
        "--report-both", kBw,
        "Leave it out: both directions are timed over one interval, so each has half of the row."),
    refused(
        "--report-per-port", kBw,
        "Run one client for each port, with -i 1 and with -i 2: one 'rdmabench serve' serves both."),
    mapped("-W, --report-counters=names", kAll,
           "the increase of each, after the table; --format json has all counters", "guest",
           set_counters),
    mapped("--cpu_util", kAll, "of all processors of this side, from /proc/stat; with -D alone",
           "guest", set<&Flags::cpu_util>),
    mapped("-w, --limit_bw=rate", kBw, "exit code 1 unless every size reaches it", "guest",
           set<&Flags::limit_bandwidth>),
    mapped("-y, --limit_msgrate=Mpps", kBw,
           "exit code 1 unless every size reaches it; -w is not needed", "guest",
           set<&Flags::limit_message_rate>),
    not_needed("-F, --CPU-freq", kAll,
               "the clock is checked against CLOCK_MONOTONIC_RAW, so there is no warning to hide",
               "guest"),
    mapped("-h, --help", kAll, "the flags that are taken", "unit", nullptr),
    mapped("-V, --version", kAll, "rdmabench's", "unit", nullptr),
};

// Flags for special hardware or raw Ethernet frames: all are refused.

constexpr std::string_view kNoFrames =
    "Use perftest's raw_ethernet_bw and raw_ethernet_lat: rdmabench sends no raw Ethernet frames.";
constexpr std::string_view kNoCrypto =
    "Use perftest itself: encryption and signatures by the device are not offered here.";
constexpr std::string_view kNoStreams =
    "Leave it out: -c DC uses plain DC initiators, without streams.";
constexpr std::string_view kNoTuning =
    "Leave it out: settings of one vendor's queue pairs or memory regions are not offered here.";

constexpr auto kSpecialFlags = [] {
  std::array<Flag, 43> rows{};
  std::size_t next = 0;
  const auto refuse = [&](std::string_view remedy, std::initializer_list<const char*> spellings) {
    for (const char* const one : spellings) rows.at(next++) = refused(one, kAll, remedy);
  };
  refuse(kNoFrames,
         {"-B, --source_mac=address", "-E, --dest_mac=address", "-J, --dest_ip=address"});
  refuse("Leave it out and name the device by -d: addresses follow the route to the host.",
         {"-j, --source_ip=address"});
  refuse(kNoFrames,
         {"-K, --dest_port=number", "-k, --source_port=number", "-Y, --ethertype=type",
          "-Z, --server", "-P, --client", "-v, --mac_fwd", "-G, --use_rss", "--local_mac=address"});
  refuse(kNoFrames,
         {"--remote_mac=address", "--local_ip=address", "--remote_ip=address",
          "--local_port=number", "--remote_port=number", "--tcp", "--raw_ipv6", "--raw_mcast"});
  refuse(kNoFrames, {"--promiscuous", "--sniffer", "--vlan_en", "--vlan_pcp=priority",
                     "--flows=count", "--flows_burst=count", "--reply_every=count"});
  refuse(kNoCrypto, {"--aes_xts", "--encrypt_on_tx", "--sig_before", "--aes_block_size=bytes",
                     "--data_enc_keys_number=count", "--kek_path=file", "--credentials_path=file",
                     "--data_enc_key_app_path=file", "+ --sig_offload"});
  refuse(kNoStreams, {"--log_dci_streams=count", "--log_active_dci_streams=count"});
  refuse(kNoTuning, {"--use_ooo", "+ --congest_type=name", "+ --tph_mem=type", "+ --cpu_id=cpu",
                     "+ --ph=hint"});
  return rows;
}();

}  // namespace

std::span<const FlagGroup> flag_groups() {
  static const std::array<FlagGroup, 5> kGroups{
      {{"Traffic", traffic_flags()},
       {"Path", kPathFlags},
       {"Memory and processors", memory_flags()},
       {"Report", kReportFlags},
       {"Raw Ethernet and special hardware", kSpecialFlags}}};
  return kGroups;
}

std::string to_markdown() {
  std::string text;
  for (const FlagGroup& group : flag_groups()) {
    text += fmt::format(
        "### {}\n\n| flag | tools | 4.5 | newest | here | | exercised |\n"
        "|---|---|---|---|---|---|---|\n",
        group.title);
    for (const Flag& flag : group.flags) {
      const std::string value = flag.value.empty() ? "" : fmt::format("={}", flag.value);
      const std::string letter = flag.letter == '\0' ? "" : fmt::format("-{}, ", flag.letter);
      text +=
          fmt::format("| `{}--{}{}` | {} | {} | {} | {} | {} | {} |\n", letter, flag.name, value,
                      to_text(flag.tools), flag.release != Release::new_only ? "yes" : "-",
                      flag.release != Release::old_only ? "yes" : "-", handling_text(flag),
                      flag.text, flag.exercised);
    }
    text += '\n';
  }
  return text;
}

}  // namespace rdmabench::inline v1::tools::perftest
