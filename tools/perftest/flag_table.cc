#include "flag_table.h"

#include <fmt/format.h>

#include <array>
#include <sstream>

namespace rdmabench::tools::perftest {
namespace {

// Between whom, and over which path.

using transport::PathOptions;

void set_link(Flags& flags, const Given& given) {
  if (given.text != "IB" && given.text != "ETHERNET") refuse_word(given, "IB or ETHERNET");
  flags.notes.emplace_back("--force-link is not needed: the port reports its link layer");
}

constexpr Flag kPathFlags[] = {
    mapped("-p, --port=number", kAll, "--port", "guest", set_number<1, 65535, &Flags::port>),
    mapped("-d, --ib-dev=name", kAll, "--device", "guest", set_text<&Flags::device>),
    mapped("-i, --ib-port=number", kAll, "--device NAME:PORT", "guest",
           set_number<1, 255, &Flags::ib_port>),
    mapped("-x, --gid-index=index", kAll,
           "--gid-index; without it, chosen by the route to the peer", "guest",
           set_number<0, 255, &Flags::config, &Config::gid_index>),
    mapped("-m, --mtu=bytes", kAll, "--mtu", "guest",
           set_number<256, 4096, &Flags::config, &Config::mtu>),
    mapped("-S, --sl=level", kAll, "--sl", "guest",
           set_number<0, 15, &Flags::config, &Config::path, &PathOptions::service_level>),
    mapped("-u, --qp-timeout=exponent", kAll, "--qp-timeout", "guest",
           set_number<0, 31, &Flags::config, &Config::path, &PathOptions::timeout>),
    mapped("--retry_count=count", kAll, "--retry-count; without -R too", "guest",
           set_number<0, 7, &Flags::config, &Config::path, &PathOptions::retry_count>),
    mapped("-T, --tos=value", kAll, "--tclass; without -R too", "guest",
           set_number<0, 255, &Flags::config, &Config::path, &PathOptions::traffic_class>),
    mapped("--tclass=value", kAll, "--tclass", "guest",
           set_number<0, 255, &Flags::config, &Config::path, &PathOptions::traffic_class>),
    mapped("--flow_label=label", kAll, "--flow-label, one for all queue pairs", "guest",
           set_number<0, 1048575, &Flags::config, &Config::path, &PathOptions::flow_label>),
    mapped("-L, --hop_limit=hops", kAll, "--hop-limit; perftest has it for raw Ethernet only",
           "guest", set_number<0, 255, &Flags::config, &Config::path, &PathOptions::hop_limit>),
    mapped("--pkey_index=index", kAll, "--pkey-index", "guest",
           set_number<0, 65535, &Flags::config, &Config::path, &PathOptions::partition_index>),
    refused("--dlid=lid", kAll, "Leave it out: the peer sends its LID."),
    mapped("-R, --rdma_cm", kAll, "--rdma-cm", "guest",
           turn_on<&Flags::config, &Config::connection_manager>),
    ignored("-z, --comm_rdma_cm", kAll,
            "the two sides negotiate over TCP; the queue pairs are the same", "guest"),
    mapped("--ipv6", kAll, "--gid-index ipv6", "guest",
           [](Flags& f, const Given& /*g*/) { f.config.gid_index = transport::kAnyIpv6Gid; }),
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

void set_output(Flags& flags, const Given& given) {
  using report::PerftestNumber;
  flags.one_number = choice<PerftestNumber>(given,
                                            {{"bandwidth", PerftestNumber::bandwidth},
                                             {"message_rate", PerftestNumber::message_rate},
                                             {"latency", PerftestNumber::latency}},
                                            "bandwidth, message_rate or latency");
}

/// "hw_counters/a,counters/b"
void set_counters(Flags& flags, const Given& given) {
  flags.counters.clear();
  std::istringstream names(given.text);
  for (std::string name; std::getline(names, name, ',');) {
    if (name.empty()) refuse_word(given, "names of counters, separated by commas");
    flags.counters.push_back(name);
  }
}

constexpr std::string_view kNoSamples =
    "Use 'rdmabench lat HOST --format json': it has percentiles up to p99.99 over all samples. Single "
    "samples are not stored.";

constexpr Flag kReportFlags[] = {
    mapped("--report_gbits", kAll, "Gb/s (10^9) and not MiB/s", "guest", turn_on<&Flags::gigabits>),
    mapped("--output=what", kAll,
           "one number on standard output, everything else on standard error", "guest", set_output),
    mapped("--out_json", kAll, "valid JSON with the newest release's keys and all sizes", "guest",
           turn_on<&Flags::json>),
    mapped("--out_json_file=file", kAll, "the file of --out_json; default: perftest_out.json",
           "guest", set_text<&Flags::json_file>),
    mapped("-N, --noPeak", kBw, "the peak is printed as 0.00", "guest", turn_off<&Flags::peak>),
    mapped("-C, --report-cycles", kLat, "ticks of the clock in use; the heading says cycles",
           "guest", turn_on<&Flags::cycles>),
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
           "guest", turn_on<&Flags::cpu_util>),
    mapped("-w, --limit_bw=rate", kBw, "exit code 1 unless every size reaches it", "guest",
           set_real<&Flags::limit_bandwidth>),
    mapped("-y, --limit_msgrate=Mpps", kBw,
           "exit code 1 unless every size reaches it; -w is not needed", "guest",
           set_real<&Flags::limit_message_rate>),
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

constexpr Flag kSpecialFlags[] = {
    refused("-B, --source_mac=address", kAll, kNoFrames),
    refused("-E, --dest_mac=address", kAll, kNoFrames),
    refused("-J, --dest_ip=address", kAll, kNoFrames),
    refused("-j, --source_ip=address", kAll,
            "Leave it out and name the device by -d: addresses follow the route to the host."),
    refused("-K, --dest_port=number", kAll, kNoFrames),
    refused("-k, --source_port=number", kAll, kNoFrames),
    refused("-Y, --ethertype=type", kAll, kNoFrames),
    refused("-Z, --server", kAll, kNoFrames),
    refused("-P, --client", kAll, kNoFrames),
    refused("-v, --mac_fwd", kAll, kNoFrames),
    refused("-G, --use_rss", kAll, kNoFrames),
    refused("--local_mac=address", kAll, kNoFrames),
    refused("--remote_mac=address", kAll, kNoFrames),
    refused("--local_ip=address", kAll, kNoFrames),
    refused("--remote_ip=address", kAll, kNoFrames),
    refused("--local_port=number", kAll, kNoFrames),
    refused("--remote_port=number", kAll, kNoFrames),
    refused("--tcp", kAll, kNoFrames),
    refused("--raw_ipv6", kAll, kNoFrames),
    refused("--raw_mcast", kAll, kNoFrames),
    refused("--promiscuous", kAll, kNoFrames),
    refused("--sniffer", kAll, kNoFrames),
    refused("--vlan_en", kAll, kNoFrames),
    refused("--vlan_pcp=priority", kAll, kNoFrames),
    refused("--flows=count", kAll, kNoFrames),
    refused("--flows_burst=count", kAll, kNoFrames),
    refused("--reply_every=count", kAll, kNoFrames),
    refused("--aes_xts", kAll, kNoCrypto),
    refused("--encrypt_on_tx", kAll, kNoCrypto),
    refused("--sig_before", kAll, kNoCrypto),
    refused("--aes_block_size=bytes", kAll, kNoCrypto),
    refused("--data_enc_keys_number=count", kAll, kNoCrypto),
    refused("--kek_path=file", kAll, kNoCrypto),
    refused("--credentials_path=file", kAll, kNoCrypto),
    refused("--data_enc_key_app_path=file", kAll, kNoCrypto),
    refused("+ --sig_offload", kAll, kNoCrypto),
    refused("--log_dci_streams=count", kAll, kNoStreams),
    refused("--log_active_dci_streams=count", kAll, kNoStreams),
    refused("--use_ooo", kAll, kNoTuning),
    refused("+ --congest_type=name", kAll, kNoTuning),
    refused("+ --tph_mem=type", kAll, kNoTuning),
    refused("+ --cpu_id=cpu", kAll, kNoTuning),
    refused("+ --ph=hint", kAll, kNoTuning),
};

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

}  // namespace rdmabench::tools::perftest
