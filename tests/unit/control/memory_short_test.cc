// A server whose memory is short while a client connects. Whichever allocation fails, nothing is
// left behind, and the client hears of it.
#include <poll.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>

#include "peers.h"

namespace {

/// Of this thread: how many allocations are left until one fails; 0: none does.
thread_local int allocations_left = 0;

void* allocate(std::size_t size) {
  if (allocations_left > 0 && --allocations_left == 0) throw std::bad_alloc();
  void* const bytes = std::malloc(size == 0 ? 1 : size);
  if (bytes == nullptr) throw std::bad_alloc();
  return bytes;
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate(size);
}
void* operator new[](std::size_t size) {
  return allocate(size);
}
void operator delete(void* bytes) noexcept {
  std::free(bytes);
}
void operator delete[](void* bytes) noexcept {
  std::free(bytes);
}
void operator delete(void* bytes, std::size_t /*size*/) noexcept {
  std::free(bytes);
}
void operator delete[](void* bytes, std::size_t /*size*/) noexcept {
  std::free(bytes);
}

namespace rdmabench::inline v1::control {
namespace {

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return std::distance(begin(folder), end(folder));
}

/// Whether the peer has answered or left.
bool heard(const RawSocket& client) {
  pollfd entry{client.handle(), POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

class ShortOfMemory : public ::testing::Test {
 protected:
  /// What accept() does when the `nth` allocation from now on fails. False when there are fewer.
  bool accept_failing_at(int nth) {
    allocations_left = nth;
    try {
      EXPECT_FALSE(listener.accept(Deadline::after({})));
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    }
    return std::exchange(allocations_left, 0) == 0;
  }

  Listener listener{"127.0.0.1", 0, Authentication::secret(std::string(kMinSecret, 's'))};
};

TEST_F(ShortOfMemory, EachConnectionIsAnsweredOrClosed) {
  const auto before = open_descriptors();
  bool failed = true;
  for (int nth = 1; failed; ++nth) {
    {
      const RawSocket client;
      client.connect(listener.port());
      client.write(greeting(Authentication::Method::token));
      failed = accept_failing_at(nth);
      EXPECT_TRUE(eventually([&] {
        static_cast<void>(listener.accept(Deadline::after({})));  // there is memory again
        return heard(client);
      })) << nth;
    }
    EXPECT_TRUE(eventually([&] {
      static_cast<void>(listener.accept(Deadline::after({})));
      return open_descriptors() == before;
    })) << nth;
  }
}

TEST_F(ShortOfMemory, EachProofIsAnsweredOrItsConnectionClosed) {
  bool failed = true;
  for (int nth = 1; failed; ++nth) {
    const RawSocket client;
    client.connect(listener.port());
    client.write(greeting(Authentication::Method::token));
    EXPECT_FALSE(listener.accept(Deadline::after({})));
    EXPECT_EQ(client.read(kHeaderBytes + kNonce).size(), kHeaderBytes + kNonce);
    client.write(frame(HandshakeMessage::proof, std::string(2 * kDigest, 'x')));
    failed = accept_failing_at(nth);
    EXPECT_TRUE(heard(client)) << nth;  // at once: what it sent may be gone
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::control
