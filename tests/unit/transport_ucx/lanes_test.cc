// What UCX prints of its transports and of an endpoint, of 1.13 (lanes) and 1.22 (resources).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/ucx/context.h"

namespace rdmabench::inline v1::transport::ucx {
namespace {

using ::testing::ElementsAre;

TEST(UcxLanes, AreReadFromWhatAnEndpointPrints) {
  EXPECT_THAT(read_resources(R"(#
# UCP endpoint
#
#               peer: node2:4711
#                 lane[0]:  3:rc_verbs/rxe0:1.0 md[2]           -> md[2]/ib/sysdev[255] am am_bw#0
#                 lane[1]:  4:ud_verbs/rxe0:1.0 md[2]           -> md[2]/ib/sysdev[255] wireup{ud_verbs/rxe0:1}
#                 lane[2]:  3:rc_verbs/rxe0:1.1 md[2]           -> md[2]/ib/sysdev[255] rma_bw#0
#                 lane[3]: 12:tcp/eth0.100.0 md[0]              -> md[0]/tcp/sysdev[255] keepalive
#
#                tag_send: 0..<egr/short>..200..<egr/bcopy>..8256..<rndv>..(inf)
)"),
              ElementsAre(Resource{"rc_verbs", "rxe0:1"}, Resource{"ud_verbs", "rxe0:1"},
                          Resource{"tcp", "eth0.100"}));
}

TEST(UcxLanes, OfAContextAreItsResources) {
  EXPECT_THAT(
      read_resources(R"(#
# UCP context
#
#     component 0  :  self
#            md 0  :  component 0  self
#
#      resource 0  :  md 0  dev 0  flags -- self/memory
#      resource 1  :  md 1  dev 1  flags a- tcp/lo
#      resource 2  :  md 1  dev 2  flags -s tcp/eth0
#
)"),
      ElementsAre(Resource{"self", "memory"}, Resource{"tcp", "lo"}, Resource{"tcp", "eth0"}));
}

TEST(UcxLanes, OtherTextHasNone) {
  for (const char* const text : {"", "\n\n", "lane[", "lane[0]:", "lane[0]: 1:x", "resource 1",
                                 "resource 1 flags ", "resource 1 flags --"}) {
    EXPECT_THAT(read_resources(text), ElementsAre()) << text;
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ucx
