// A peer whose process is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "pair.h"

namespace rdmabench::inline v1::transport::ucx::dead_peer_test {
namespace {

using ::testing::HasSubstr;

class UcxDeadPeer : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { need(request(GetParam(), OperationCode::send)); }
};

INSTANTIATE_TEST_SUITE_P(Transports, UcxDeadPeer, ::testing::Values("tcp", "posix"));

/// Another process with an endpoint, whose address comes and goes by two pipes: this program with
/// one test, UcxPeer below.
class PeerProcess {
 public:
  explicit PeerProcess(const char* transports) {
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0) throw Error(Fault::failed, "pipe()");
    child_ = fork();
    if (child_ == 0) {
      dup2(there[0], STDIN_FILENO);
      dup2(back[1], kPeerOut);
      setenv("UCX_PEER", transports, 1);
      execl("/proc/self/exe", "peer", "--gtest_filter=UcxPeer.*", "--gtest_brief=1", nullptr);
      _exit(127);
    }
    close(there[0]);
    close(back[1]);
    to_ = there[1];
    from_ = fdopen(back[0], "r");
  }
  PeerProcess& operator=(PeerProcess&&) = delete;
  ~PeerProcess() {
    kill();
    close(to_);
    fclose(from_);
  }

  static constexpr int kPeerOut = 3;
  void say(std::string line) {
    line += '\n';
    EXPECT_EQ(write(to_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  std::string hear() {
    std::string line;
    for (int c = fgetc(from_); c != EOF && c != '\n'; c = fgetc(from_)) {
      line += static_cast<char>(c);
    }
    return line;
  }
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
  int to_ = -1;
  FILE* from_ = nullptr;
};

/// As PeerProcess runs it: answers each message until it is killed.
TEST(UcxPeer, Answers) {
  const char* const transports = std::getenv("UCX_PEER");
  if (transports == nullptr) GTEST_SKIP() << "part of another test";
  EndpointRequest r = request(transports, OperationCode::send);
  r.client = false;
  Endpoint endpoint(r, "");
  const std::string address = endpoint.address() + '\n';
  ASSERT_GT(write(PeerProcess::kPeerOut, address.data(), address.size()), 0);
  std::string peer;
  std::getline(std::cin, peer);
  endpoint.connect(peer);
  const Deadline deadline = Deadline::after(std::chrono::seconds(60));
  while (!deadline.passed()) {
    endpoint.poll([&](const Received& received) noexcept {
      endpoint.post_receive(received.slot);
      endpoint.post<Send>(0, 0, 8, 0, Signal::now);
    });
  }
}

/// Over shared memory nothing but UCX's own question tells, which it asks every quarter of
/// `timeout`.
TEST_P(UcxDeadPeer, EndsThePolls) {
  PeerProcess process(GetParam());
  EndpointRequest r = request(GetParam(), OperationCode::send);
  r.timeout = std::chrono::seconds(4);
  Endpoint endpoint(r, "");
  endpoint.connect(process.hear());
  process.say(endpoint.address());
  bool answered = false;
  const auto poll = [&] {
    return endpoint.poll([&](const Received& received) noexcept {
      answered = true;
      endpoint.post_receive(received.slot);
    });
  };
  ASSERT_EQ(endpoint.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  const Deadline answer = Deadline::after(std::chrono::seconds(20));
  while (!answered && !answer.passed()) ASSERT_GE(poll(), 0) << endpoint.failure();
  ASSERT_TRUE(answered);
  process.kill();
  const Deadline deadline = Deadline::after(std::chrono::seconds(15));
  int seen = 0;
  while (seen >= 0 && !deadline.passed()) seen = poll();
  EXPECT_EQ(seen, -1);
  EXPECT_THAT(endpoint.failure(), HasSubstr("UCX"));
  EXPECT_EQ(endpoint.failed_call().library, "UCX");
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ucx::dead_peer_test
