// The fake driver, as each test wants it.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "../complaint.h"
#include "fake_cuda.h"
#include "gpu/driver.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::gpu {

class GpuTest : public testing::Test {
 protected:
  GpuTest() { fake_cuda_reset(); }

  ~GpuTest() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    fake_cuda_reset();
  }

  /// From here on the fake is so: pretend("FAKE_CUDA_DEVICES", "0").
  void pretend(const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
    set_.insert(name);
    fake_cuda_reset();
  }

  /// A driver without some functions, of the version that the fake tells.
  static Driver driver_without(const std::set<std::string>& missing) {
    return load_driver(
        [&](const char* name) -> void* {
          return missing.count(name) != 0 ? nullptr : dlsym(RTLD_DEFAULT, name);
        },
        "fake");
  }

  static Deadline soon() { return Deadline::after(std::chrono::seconds(120)); }

  static std::span<std::byte> bytes_at(DevicePointer at, std::uint64_t bytes) {
    return {static_cast<std::byte*>(fake_cuda_host_pointer(at)), bytes};
  }

  static void expect_nothing_alive() {
    for (const char* kind : {"allocation", "vmm", "reservation", "host", "stream", "graph",
                             "graph_exec", "module", "context"}) {
      EXPECT_EQ(fake_cuda_alive(kind), 0) << kind;
    }
  }

 private:
  std::set<std::string> set_;
};

}  // namespace rdmabench::inline v1::gpu
