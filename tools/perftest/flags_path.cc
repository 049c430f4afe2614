// Between whom, and over which path.
#include "flag_table.h"
#include "values.h"

namespace rdmabench::tools::perftest {
namespace {

template <std::int32_t transport::PathOptions::*Member, std::uint64_t Most>
void set_path(Flags& flags, const Given& given) {
  flags.path.*Member = whole_as<std::int32_t>(given, 0, Most);
}

void set_link(Flags& flags, const Given& given) {
  if (given.text != "IB" && given.text != "ETHERNET") refuse_word(given, "IB or ETHERNET");
  flags.notes.push_back("--force-link is not needed: the port tells what its link is");
}

constexpr Flag kPathFlags[] = {
    {'p', "port", "number", kAll, Release::both, Take::mapped, "--port", "guest",
     [](Flags& f, const Given& g) { f.port = whole_as<std::uint16_t>(g, 1, 65535); }},
    {'d', "ib-dev", "name", kAll, Release::both, Take::mapped, "--device", "guest",
     [](Flags& f, const Given& g) { f.device = g.text; }},
    {'i', "ib-port", "number", kAll, Release::both, Take::mapped, "--device NAME:PORT", "guest",
     [](Flags& f, const Given& g) { f.ib_port = whole_as<std::uint32_t>(g, 1, 255); }},
    {'x', "gid-index", "index", kAll, Release::both, Take::mapped,
     "--gid-index; without it, chosen by the route to the peer", "guest",
     [](Flags& f, const Given& g) { f.gid_index = whole_as<std::int32_t>(g, 0, 255); }},
    {'m', "mtu", "bytes", kAll, Release::both, Take::mapped, "--mtu", "guest",
     [](Flags& f, const Given& g) { f.mtu = whole_as<std::int32_t>(g, 256, 4096); }},
    {'S', "sl", "level", kAll, Release::both, Take::mapped, "--sl", "guest",
     set_path<&transport::PathOptions::service_level, 15>},
    {'u', "qp-timeout", "exponent", kAll, Release::both, Take::mapped, "--qp-timeout", "guest",
     set_path<&transport::PathOptions::timeout, 31>},
    {'\0', "retry_count", "count", kAll, Release::both, Take::mapped,
     "--retry-count; without -R too", "guest", set_path<&transport::PathOptions::retry_count, 7>},
    {'T', "tos", "value", kAll, Release::both, Take::mapped, "--tclass; without -R too", "guest",
     set_path<&transport::PathOptions::traffic_class, 255>},
    {'\0', "tclass", "value", kAll, Release::both, Take::mapped, "--tclass", "guest",
     set_path<&transport::PathOptions::traffic_class, 255>},
    {'\0', "flow_label", "label", kAll, Release::both, Take::mapped,
     "--flow-label, one for all queue pairs", "guest",
     set_path<&transport::PathOptions::flow_label, 1048575>},
    {'L', "hop_limit", "hops", kAll, Release::both, Take::mapped,
     "--hop-limit; perftest has it for raw Ethernet only", "guest",
     set_path<&transport::PathOptions::hop_limit, 255>},
    {'\0', "pkey_index", "index", kAll, Release::both, Take::mapped, "--pkey-index", "guest",
     set_path<&transport::PathOptions::partition_index, 65535>},
    {'\0', "dlid", "lid", kAll, Release::both, Take::refused,
     "Leave it out: the peer tells its own LID.", "unit", nullptr},
    {'R', "rdma_cm", "", kAll, Release::both, Take::mapped, "--rdma-cm", "guest",
     [](Flags& f, const Given& /*g*/) { f.connection_manager = true; }},
    {'z', "comm_rdma_cm", "", kAll, Release::both, Take::ignored,
     "the sides agree over TCP; the queue pairs are the same as with it", "guest", nullptr},
    {'\0', "ipv6", "", kAll, Release::both, Take::refused,
     "Name the host by its IPv6 address, or the GID by -x: the GID follows the route.", "unit",
     nullptr},
    {'\0', "ipv6-addr", "", kAll, Release::new_only, Take::not_needed,
     "a host is reached over IPv4 or IPv6, whichever its name gives", "guest", nullptr},
    {'\0', "bind_source_ip", "address", kAll, Release::new_only, Take::refused,
     "Leave it out and name the device by -d: addresses follow the route to the host.", "unit",
     nullptr},
    {'\0', "force-link", "type", kAll, Release::both, Take::mapped,
     "taken with a note: the port tells what its link is", "guest", set_link},
    {'\0', "dont_xchg_versions", "", kAll, Release::both, Take::not_needed,
     "versions are always compared, and cannot abort a run of equals", "unit", nullptr},
    {'\0', "wait_destroy", "seconds", kBw, Release::both, Take::refused,
     "Leave it out: to look at live objects use 'rdma resource show' during a run with -D.", "unit",
     nullptr},
};

}  // namespace

std::span<const Flag> path_flags() {
  return kPathFlags;
}

}  // namespace rdmabench::tools::perftest
