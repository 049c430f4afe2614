// A fake GPU and a fake NIC in one process.
#pragma once

#include <fake_cuda.h>
#include <fake_verbs.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {

/// Every test begins with two GPUs and one NIC that takes dma-bufs, and ends with nothing left.
class OnFakeGpu : public testing::Test {
 protected:
  OnFakeGpu() { have({}); }
  ~OnFakeGpu() override {
    EXPECT_EQ(fake_verbs::live(), 0);
    EXPECT_THAT(fake_verbs::violations(), testing::IsEmpty());
    EXPECT_EQ(fake_cuda_alive("allocation") + fake_cuda_alive("vmm") + fake_cuda_alive("host"), 0);
    have({});
  }

  /// The GPU's environment, and `change` made to the NIC.
  template <class Change>
  void have(const std::vector<std::pair<std::string, std::string>>& environment, Change&& change) {
    for (const std::string& name : set_) unsetenv(name.c_str());
    set_.clear();
    for (const auto& [name, value] : environment) {
      setenv(name.c_str(), value.c_str(), 1);
      set_.push_back(name);
    }
    fake_cuda_reset();
    fake_verbs::Device device = fake_verbs::soft_roce();
    device.takes_dma_buf = true;
    change(device);
    fake_verbs::reset({device});
  }
  void have(const std::vector<std::pair<std::string, std::string>>& environment) {
    have(environment, [](const fake_verbs::Device&) {});
  }

 private:
  std::vector<std::string> set_;
};

}  // namespace rdmabench::inline v1
