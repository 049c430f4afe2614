// The built plugin by its own table, over memory: handles that a peer damaged, and strangers at the
// listener.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "netplugin/abi.h"
#include "netplugin/plugin/setup.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::netplugin::plugin {
namespace {

using Bytes = std::array<unsigned char, abi::kHandleBytes>;

class PluginTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("RDMABENCH_NET_BACKEND", "loop", 1);
    setenv("RDMABENCH_NET_IP", "127.0.0.1", 1);
    setenv("RDMABENCH_NET_TIMEOUT", "4s", 1);  // of the set-up of a connection
    void* const library = dlopen(RDMABENCH_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    net = static_cast<const abi::NetV11*>(dlsym(library, "ncclNetPlugin_v11"));
    ASSERT_NE(net, nullptr);
  }

  void SetUp() override {
    ASSERT_EQ(net->init(&context_, 1, nullptr, nullptr, nullptr), abi::kSuccess);
    ASSERT_EQ(net->listen(context_, 0, bytes_.data(), &listening_), abi::kSuccess);
  }
  void TearDown() override {
    for (void* const comm : senders_) EXPECT_EQ(net->close_send(comm), abi::kSuccess);
    for (void* const comm : receivers_) EXPECT_EQ(net->close_receive(comm), abi::kSuccess);
    EXPECT_EQ(net->close_listen(listening_), abi::kSuccess);
  }

  Handle handle() const {
    Handle handle;
    std::memcpy(&handle, bytes_.data(), sizeof handle);
    return handle;
  }
  static Bytes bytes_of(const Handle& handle) {
    Bytes bytes{};
    std::memcpy(bytes.data(), &handle, sizeof handle);
    return bytes;
  }

  abi::Result connect_once(Bytes& bytes, void*& comm) {
    return net->connect(context_, 0, bytes.data(), &comm, nullptr);
  }

  /// Whether both ends come to be before the plugin or this test gives up.
  bool connects(Bytes& bytes) {
    void* sender = nullptr;
    void* receiver = nullptr;
    const Deadline deadline = Deadline::after(std::chrono::seconds(20));
    while ((sender == nullptr || receiver == nullptr) && !deadline.passed()) {
      if (sender == nullptr && connect_once(bytes, sender) != abi::kSuccess) return false;
      if (receiver == nullptr && net->accept(listening_, &receiver, nullptr) != abi::kSuccess) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (sender != nullptr) senders_.push_back(sender);
    if (receiver != nullptr) receivers_.push_back(receiver);
    return sender != nullptr && receiver != nullptr;
  }

  control::Channel stranger() const {
    return control::Channel::connect("127.0.0.1", handle().port, soon());
  }
  static Deadline soon() { return Deadline::after(std::chrono::seconds(5)); }

  static inline const abi::NetV11* net = nullptr;
  void* context_ = nullptr;
  void* listening_ = nullptr;
  Bytes bytes_{};
  std::vector<void*> senders_;
  std::vector<void*> receivers_;
};

TEST_F(PluginTest, RefusesAHandleThatListenDidNotMake) {
  std::vector<Handle> wrong(6, handle());
  wrong[0].mark ^= 1U;
  wrong[1].addresses = 0;
  wrong[2].addresses = 4;
  wrong[3].pending = 0x4141414141414141;  // once a pointer that was followed
  wrong[4].pending = 1000000;
  std::memset(static_cast<void*>(&wrong[5]), 0xff, sizeof wrong[5]);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    Bytes bytes = bytes_of(wrong[i]);
    void* comm = this;
    EXPECT_EQ(connect_once(bytes, comm), abi::kInvalidUsage) << i;
    EXPECT_EQ(comm, nullptr) << i;
  }
  EXPECT_TRUE(connects(bytes_)) << "the good handle connects all the same";
}

TEST_F(PluginTest, AnAttemptIsOnlyForTheHandleThatBeganIt) {
  Bytes own = bytes_;
  void* comm = nullptr;
  ASSERT_EQ(connect_once(own, comm), abi::kSuccess);
  if (comm == nullptr) {
    Handle other;
    std::memcpy(&other, own.data(), sizeof other);
    ASSERT_NE(other.pending, 0U);
    other.secret[1] ^= 1U;
    Bytes bytes = bytes_of(other);
    void* none = nullptr;
    EXPECT_EQ(connect_once(bytes, none), abi::kInvalidUsage);
    EXPECT_TRUE(connects(own)) << "the attempt goes on";
  } else {
    senders_.push_back(comm);
  }
  EXPECT_EQ(bytes_of(handle()), own) << "the handle is as it was";
}

TEST_F(PluginTest, AHandleOfAnAttemptThatIsOverIsRefused) {
  Bytes own = bytes_;
  void* comm = nullptr;
  ASSERT_EQ(connect_once(own, comm), abi::kSuccess);
  if (comm != nullptr) GTEST_SKIP() << "it was done at once";
  Bytes copy = own;
  ASSERT_TRUE(connects(own));
  EXPECT_EQ(connect_once(copy, comm), abi::kInvalidUsage);
}

TEST_F(PluginTest, TwoCopiesOfAHandleAreTwoConnections) {
  Bytes first = bytes_;
  Bytes second = bytes_;
  EXPECT_TRUE(connects(first));
  EXPECT_TRUE(connects(second));
  EXPECT_EQ(senders_.size(), 2U);
}

TEST_F(PluginTest, SilentStrangersKeepNobodyOut) {
  std::vector<control::Channel> strangers;
  for (int i = 0; i < 3; ++i) strangers.push_back(stranger());
  EXPECT_TRUE(connects(bytes_));
}

TEST_F(PluginTest, MoreStrangersThanTheDoorHoldsKeepNobodyOut) {
  std::vector<control::Channel> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(stranger());
  EXPECT_TRUE(connects(bytes_));
  // One of those that had to go.
  EXPECT_ANY_THROW(strangers.front().receive(soon(), "nothing"));
}

TEST_F(PluginTest, WhoSaysTheWrongThingIsShownOut) {
  using control::MessageType;
  std::vector<control::Channel> strangers;
  for (const char* const text : {"", "[]", "{", "{}", R"({"secret":"0123"})", R"({"secret":7})"}) {
    strangers.push_back(stranger());
    strangers.back().send(MessageType::hello, text, soon());
  }
  strangers.push_back(stranger());
  strangers.back().send(MessageType::choice, "{}", soon());
  for (control::Channel& one : strangers) {
    const Deadline deadline = soon();
    EXPECT_ANY_THROW(one.receive(deadline, "nothing"));
    EXPECT_FALSE(deadline.passed()) << "it was not shown out, but left waiting";
  }
  EXPECT_TRUE(connects(bytes_));
}

}  // namespace
}  // namespace rdmabench::netplugin::plugin
