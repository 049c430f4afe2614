// The tests of ucx_perftest, and which of them are measured here.
#include "options.h"

namespace rdmabench::inline v1::tools::ucx_perftest {
namespace {

using transport::OperationCode;

constexpr std::string_view kLatency = "latency", kOverhead = "overhead";
constexpr std::uint32_t kPingPong = 0, kWindow = 32;
constexpr auto kActive = transport::Service::am;
constexpr std::string_view kNoPlainAdd = "An add has an answer here: take ucp_fadd.";

constexpr Test kTests[] = {
    {"tag_lat", "", kLatency, OperationCode::send, kPingPong},
    {"tag_bw", "", kOverhead, OperationCode::send, kWindow},
    {"ucp_put_lat", "put_lat", kLatency, OperationCode::write, kPingPong},
    {"ucp_put_bw", "put_bw", kOverhead, OperationCode::write, kWindow},
    {"ucp_get", "get", kLatency, OperationCode::read, 1},
    {"", "get_bw", kOverhead, OperationCode::read, kWindow},
    {"ucp_fadd", "fadd", kLatency, OperationCode::fetch_add, 1},
    {"ucp_cswap", "cswap", kLatency, OperationCode::compare_swap, 1},
    {"ucp_am_lat", "am_lat", kLatency, OperationCode::send, kPingPong, "", kActive},
    {"ucp_am_bw", "am_bw", kOverhead, OperationCode::send, kWindow, "", kActive},
    {.name = "ucp_add", .lower_name = "add_mr", .instead = kNoPlainAdd},
    {.name = "", .lower_name = "add_lat", .instead = kNoPlainAdd},
    {.name = "ucp_swap", .lower_name = "swap", .instead = "Take ucp_cswap or ucp_fadd."},
    {.name = "tag_sync_lat", .instead = "Sends are not synchronous here: take tag_lat."},
    {.name = "tag_sync_bw", .instead = "Sends are not synchronous here: take tag_bw."},
    {.name = "stream_lat", .instead = "UCX's streams are not used here: take tag_lat."},
    {.name = "stream_bw", .instead = "UCX's streams are not used here: take tag_bw."},
};

}  // namespace

std::span<const Test> tests() {
  return kTests;
}

}  // namespace rdmabench::inline v1::tools::ucx_perftest
