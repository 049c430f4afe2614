#include "perftest/cpu_meter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace rdmabench::inline v1::tools::perftest {
namespace {

using std::chrono::milliseconds;

class CpuMeterTest : public ::testing::Test {
 protected:
  CpuMeterTest() : file_(::testing::TempDir() + "rdmabench-stat") {}
  ~CpuMeterTest() override { std::remove(file_.c_str()); }

  void write(const std::string& columns) const {
    std::ofstream(file_) << "cpu  " << columns << "\ncpu0 9 9 9 9\n";
  }

  std::string file_;
  CpuMeter::Time start_;
};

TEST_F(CpuMeterTest, IsWhatWasNotIdleFromTheFirstReadingToTheLast) {
  CpuMeter meter(file_);
  write("100 0 50 1000 0 0 0 0 77 0");
  meter.add(64, start_);
  EXPECT_TRUE(std::isnan(meter.percent(64))) << "one reading";
  write("120 0 60 1060 5 0 5 0 99 0");  // 100 ticks more, 60 of them idle
  meter.add(64, start_ + milliseconds(100));
  EXPECT_DOUBLE_EQ(meter.percent(64), 40);
  EXPECT_TRUE(std::isnan(meter.percent(128))) << "another size";
}

TEST_F(CpuMeterTest, ReadsTenTimesASecondAtMost) {
  CpuMeter meter(file_);
  write("0 0 0 0");
  meter.add(64, start_);
  write("10 0 0 10");
  meter.add(64, start_ + milliseconds(99));
  EXPECT_TRUE(std::isnan(meter.percent(64)));
  meter.add(64, start_ + milliseconds(101));
  EXPECT_DOUBLE_EQ(meter.percent(64), 50);
}

TEST_F(CpuMeterTest, KnowsNothingWithoutTheFile) {
  CpuMeter meter("/nonexistent");
  meter.add(64, start_);
  meter.add(64, start_ + milliseconds(200));
  EXPECT_TRUE(std::isnan(meter.percent(64)));
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::perftest
