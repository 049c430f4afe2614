// The list of cases.
#include <algorithm>
#include <array>

#include "case_runner.h"
#include "netplugin/check.h"
#include "netplugin/net.h"

namespace rdmabench::inline v1::netplugin {
namespace {

struct Row {
  CaseInfo info;
  CaseFunction run;
};

constexpr std::array<Row, 26> kRows{{
    {{"init", "the mandatory functions exist, init() succeeds, and there is a device"},
     &cases_of::init},
    {{"properties", "the properties of each device are valid"}, &cases_of::properties},
    {{"handle", "a handle fits in 128 bytes, and a copy of it connects"}, &cases_of::handle},
    {{"connect", "connect() and accept() do not wait for the other end"}, &cases_of::connect},
    {{"registration",
      "memory of any size and alignment can be registered and deregistered in any order"},
     &cases_of::registration},
    {{"message", "messages of 1 byte to 8 MiB arrive whole"}, &cases_of::message},
    {{"order", "messages arrive in the order of posting"}, &cases_of::order},
    {{"larger-receive",
      "a receive may be larger than the message; test() gives the message's size"},
     &cases_of::larger_receive},
    {{"zero-bytes", "a message may have 0 bytes"}, &cases_of::zero_bytes},
    {{"sizes", "test() accepts a null pointer for sizes"}, &cases_of::sizes_of_test},
    {{"late-receive", "a send may come before its receive"}, &cases_of::late_receive},
    {{"outstanding", "a comm takes 32 requests in flight"}, &cases_of::outstanding},
    {{"tags", "in a group of receives the tag selects the buffer"}, &cases_of::tags},
    {{"group-order", "a tag selects a buffer of the first group that is not full"},
     &cases_of::group_order},
    {{"outstanding-groups", "a comm takes 32 groups of receives in flight"},
     &cases_of::outstanding_groups},
    {{"optional-completion", "a receive with optional completion receives its data"},
     &cases_of::optional_completion},
    {{"larger-send", "a send larger than its receive writes nothing behind the buffer"},
     &cases_of::larger_send},
    {{"both-ways", "one thread can connect and accept, and send and receive, by turns"},
     &cases_of::both_ways},
    {{"independence", "an idle connection does not block others"}, &cases_of::independence},
    {{"threads", "each connection can be used by its own thread"}, &cases_of::threads},
    {{"flush", "iflush() completes if the plugin has it"}, &cases_of::flush},
    {{"reopen", "closed connections leave no file descriptors"}, &cases_of::reopen},
    {{"close-busy-send", "a sender can be closed with sends in flight"},
     &cases_of::close_busy_send},
    {{"close-busy-receive", "a receiver can be closed with receives in flight"},
     &cases_of::close_busy_receive},
    {{"peer-leaves", "a receive without a send is never reported done"}, &cases_of::peer_leaves},
    {{"finalize", "the plugin can be finalized and initialized again"}, &cases_of::finalize},
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

CaseFunction find_case(std::string_view id) {
  for (const Row& row : kRows) {
    if (row.info.id == id) return row.run;
  }
  return nullptr;
}

}  // namespace rdmabench::inline v1::netplugin
