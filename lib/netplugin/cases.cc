// The list of cases.
#include <algorithm>
#include <array>

#include "netplugin/net.h"
#include "rdmabench/netplugin/check.h"
#include "side.h"

namespace rdmabench::netplugin {
namespace {

struct Row {
  CaseInfo info;
  Run run;
};

constexpr std::array<Row, 26> kRows{{
    {{"init", "the functions are there, init() succeeds and there is a device"}, &cases_of::init},
    {{"properties", "what is said of each device makes sense"}, &cases_of::properties},
    {{"handle", "a handle fits in 128 bytes, and a copy of it connects"}, &cases_of::handle},
    {{"connect", "connect() and accept() do not wait for the other end"}, &cases_of::connect},
    {{"registration", "memory of any size and place is registered, in any order"},
     &cases_of::registration},
    {{"message", "messages of 1 byte to 8 MiB arrive whole"}, &cases_of::message},
    {{"order", "messages arrive in the order of posting"}, &cases_of::order},
    {{"larger-receive", "a receive may be larger than the message, and says its size"},
     &cases_of::larger_receive},
    {{"zero-bytes", "a message may be of no bytes"}, &cases_of::zero_bytes},
    {{"sizes", "test() gives sizes to who asks, and none to who does not"},
     &cases_of::sizes_of_test},
    {{"late-receive", "a send may come before its receive"}, &cases_of::late_receive},
    {{"outstanding", "32 requests may be under way on a comm"}, &cases_of::outstanding},
    {{"tags", "in a group of receives the tag picks the buffer"}, &cases_of::tags},
    {{"group-order", "a tag picks within the first group alone"}, &cases_of::group_order},
    {{"outstanding-groups", "32 groups of receives may be under way on a comm"},
     &cases_of::outstanding_groups},
    {{"optional-completion", "a receive that need not be tested takes its data all the same"},
     &cases_of::optional_completion},
    {{"larger-send", "a send larger than its receive writes nothing beyond it"},
     &cases_of::larger_send},
    {{"both-ways", "one thread may connect and accept, send and receive at once"},
     &cases_of::both_ways},
    {{"independence", "a connection that stands still does not hold up others"},
     &cases_of::independence},
    {{"threads", "connections may be used by threads of their own"}, &cases_of::threads},
    {{"flush", "iflush() completes where it is offered"}, &cases_of::flush},
    {{"reopen", "connections that are closed leave nothing behind"}, &cases_of::reopen},
    {{"close-busy-send", "a sender may be closed while sends are under way"},
     &cases_of::close_busy_send},
    {{"close-busy-receive", "a receiver may be closed while receives are under way"},
     &cases_of::close_busy_receive},
    {{"peer-leaves", "what was not sent is never reported as received"}, &cases_of::peer_leaves},
    {{"finalize", "the plugin may be finalized and initialized again"}, &cases_of::finalize},
}};

}  // namespace

std::span<const CaseInfo> cases() {
  static const auto kInfos = [] {
    std::array<CaseInfo, kRows.size()> infos;
    std::transform(kRows.begin(), kRows.end(), infos.begin(),
                   [](const Row& row) { return row.info; });
    return infos;
  }();
  return kInfos;
}

Run find_case(std::string_view id) {
  for (const Row& row : kRows) {
    if (row.info.id == id) return row.run;
  }
  return nullptr;
}

}  // namespace rdmabench::netplugin
