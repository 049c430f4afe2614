// What needs special hardware or raw Ethernet frames: all of it is refused.
#include "flag_table.h"

namespace rdmabench::tools::perftest {
namespace {

constexpr std::string_view kNoFrames =
    "Use perftest's raw_ethernet_bw and raw_ethernet_lat: frames of one's own are not sent here.";
constexpr std::string_view kNoCrypto =
    "Use perftest's own: encryption and signatures in the device are not offered here.";
constexpr std::string_view kNoStreams =
    "Leave it out: -c DC uses plain DC initiators, without streams.";
constexpr std::string_view kNoTuning =
    "Leave it out: what only one vendor's queue pairs or regions can be told is not offered here.";

constexpr Flag kSpecialFlags[] = {
    {'B', "source_mac", "address", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'E', "dest_mac", "address", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'J', "dest_ip", "address", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'j', "source_ip", "address", kAll, Release::both, Take::refused,
     "Leave it out and name the device by -d: addresses follow the route to the host.", "unit",
     nullptr},
    {'K', "dest_port", "number", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'k', "source_port", "number", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'Y', "ethertype", "type", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'Z', "server", "", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'P', "client", "", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'v', "mac_fwd", "", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'G', "use_rss", "", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "local_mac", "address", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "remote_mac", "address", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "local_ip", "address", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "remote_ip", "address", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "local_port", "number", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "remote_port", "number", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "tcp", "", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "raw_ipv6", "", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "raw_mcast", "", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "promiscuous", "", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "sniffer", "", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "vlan_en", "", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "vlan_pcp", "priority", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "flows", "count", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "flows_burst", "count", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "reply_every", "count", kAll, Release::both, Take::refused, kNoFrames, "unit", nullptr},
    {'\0', "aes_xts", "", kAll, Release::both, Take::refused, kNoCrypto, "unit", nullptr},
    {'\0', "encrypt_on_tx", "", kAll, Release::both, Take::refused, kNoCrypto, "unit", nullptr},
    {'\0', "sig_before", "", kAll, Release::both, Take::refused, kNoCrypto, "unit", nullptr},
    {'\0', "aes_block_size", "bytes", kAll, Release::both, Take::refused, kNoCrypto, "unit",
     nullptr},
    {'\0', "data_enc_keys_number", "count", kAll, Release::both, Take::refused, kNoCrypto, "unit",
     nullptr},
    {'\0', "kek_path", "file", kAll, Release::both, Take::refused, kNoCrypto, "unit", nullptr},
    {'\0', "credentials_path", "file", kAll, Release::both, Take::refused, kNoCrypto, "unit",
     nullptr},
    {'\0', "data_enc_key_app_path", "file", kAll, Release::both, Take::refused, kNoCrypto, "unit",
     nullptr},
    {'\0', "sig_offload", "", kAll, Release::new_only, Take::refused, kNoCrypto, "unit", nullptr},
    {'\0', "log_dci_streams", "count", kAll, Release::both, Take::refused, kNoStreams, "unit",
     nullptr},
    {'\0', "log_active_dci_streams", "count", kAll, Release::both, Take::refused, kNoStreams,
     "unit", nullptr},
    {'\0', "use_ooo", "", kAll, Release::both, Take::refused, kNoTuning, "unit", nullptr},
    {'\0', "congest_type", "name", kAll, Release::new_only, Take::refused, kNoTuning, "unit",
     nullptr},
    {'\0', "tph_mem", "type", kAll, Release::new_only, Take::refused, kNoTuning, "unit", nullptr},
    {'\0', "cpu_id", "cpu", kAll, Release::new_only, Take::refused, kNoTuning, "unit", nullptr},
    {'\0', "ph", "hint", kAll, Release::new_only, Take::refused, kNoTuning, "unit", nullptr},
};

}  // namespace

std::span<const Flag> special_flags() {
  return kSpecialFlags;
}

}  // namespace rdmabench::tools::perftest
