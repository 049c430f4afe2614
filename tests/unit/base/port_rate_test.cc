#include "base/port_rate.h"

#include <gtest/gtest.h>

namespace rdmabench::inline v1 {
namespace {

TEST(PortRate, IsWhatTheKernelCallsIt) {
  EXPECT_EQ(parse_port_rate("800 Gb/sec (4X XDR)"), 800);
  EXPECT_EQ(parse_port_rate("2.5 Gb/sec (1X SDR)"), 2.5);
  EXPECT_EQ(parse_port_rate("40 Gb/sec (4X QDR)\n"), 40);
  for (const char* other :
       {"", "400", "Gb/sec", "-1 Gb/sec", "0 Gb/sec", "inf Gb/sec", "10 Mb/sec"}) {
    EXPECT_EQ(parse_port_rate(other), 0) << other;
  }
}

TEST(PortRate, LosesTheEncodingOfOlderInfiniBand) {
  for (const char* older :
       {"10 Gb/sec (4X)", "10 Gb/sec (4X SDR)", "20 Gb/sec (4X DDR)", "40 Gb/sec (4X QDR)"}) {
    EXPECT_EQ(port_data_share(older, true), 0.8) << older;
  }
  EXPECT_NEAR(56 * port_data_share("56 Gb/sec (4X FDR)", true), 54.55, 0.01);
  for (const char* newer :
       {"40 Gb/sec (4X FDR10)", "100 Gb/sec (4X EDR)", "800 Gb/sec (4X XDR)", ""}) {
    EXPECT_EQ(port_data_share(newer, true), 1) << newer;
  }
}

TEST(PortRate, OnEthernetIsThatOfData) {
  EXPECT_EQ(port_data_share("40 Gb/sec (4X QDR)", false), 1);
  EXPECT_EQ(port_data_share("2.5 Gb/sec (1X SDR)", false), 1);
}

}  // namespace
}  // namespace rdmabench::inline v1
