// Where a server changes the environment. In a program of its own: that happens once.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "rdmabench/run/client.h"
#include "rdmabench/run/server.h"

namespace {

std::vector<std::thread::id> changed_by;

}  // namespace

/// In place of that of libc.
extern "C" int setenv(const char* name, const char* value, int overwrite) noexcept {
  if (std::string_view(name) == "FI_OFI_RXM_MSG_RX_SIZE") {
    changed_by.push_back(std::this_thread::get_id());
  }
  return reinterpret_cast<decltype(&setenv)>(dlsym(RTLD_NEXT, "setenv"))(name, value, overwrite);
}

namespace rdmabench::inline v1::run {
namespace {

TEST(ServerBegins, ItChangesTheEnvironmentInTheThreadThatMakesItAndUndoesIt) {
  unsetenv("FI_OFI_RXM_MSG_RX_SIZE");
  run_in_process({.stop = measure::StopRule::iterations(10), .backend = "loop"});
  EXPECT_TRUE(changed_by.empty()) << "libfabric is not asked for";
  const Server server({.address = "127.0.0.1", .port = 0}, nullptr);
  EXPECT_EQ(changed_by, std::vector{std::this_thread::get_id()});
  EXPECT_EQ(std::getenv("FI_OFI_RXM_MSG_RX_SIZE"), nullptr);
}

}  // namespace
}  // namespace rdmabench::inline v1::run
