// Flags for special hardware or raw Ethernet frames: all are refused.
#include "flag_table.h"

namespace rdmabench::tools::perftest {
namespace {

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
    refused("--sig_offload", kAll, kNoCrypto).only(Release::new_only),
    refused("--log_dci_streams=count", kAll, kNoStreams),
    refused("--log_active_dci_streams=count", kAll, kNoStreams),
    refused("--use_ooo", kAll, kNoTuning),
    refused("--congest_type=name", kAll, kNoTuning).only(Release::new_only),
    refused("--tph_mem=type", kAll, kNoTuning).only(Release::new_only),
    refused("--cpu_id=cpu", kAll, kNoTuning).only(Release::new_only),
    refused("--ph=hint", kAll, kNoTuning).only(Release::new_only),
};

}  // namespace

std::span<const Flag> special_flags() {
  return kSpecialFlags;
}

}  // namespace rdmabench::tools::perftest
