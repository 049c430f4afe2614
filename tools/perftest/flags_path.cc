// Between whom, and over which path.
#include "flag_table.h"

namespace rdmabench::tools::perftest {
namespace {

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
    not_needed("--ipv6-addr", kAll, "a host is reached over IPv4 or IPv6, as its name resolves",
               "guest")
        .only(Release::new_only),
    refused("--bind_source_ip=address", kAll,
            "Leave it out and name the device by -d: addresses follow the route to the host.")
        .only(Release::new_only),
    mapped("--force-link=type", kAll, "checked, with a note: the port reports its link layer",
           "guest", set_link),
    not_needed("--dont_xchg_versions", kAll,
               "versions are always compared; equal versions never end a run", "unit"),
    refused("--wait_destroy=seconds", kBw,
            "Leave it out: to see live objects, use 'rdma resource show' during a run with -D."),
};

}  // namespace

std::span<const Flag> path_flags() {
  return kPathFlags;
}

}  // namespace rdmabench::tools::perftest
