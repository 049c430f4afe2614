// One end of a case: calls the plugin and checks each result against what NCCL relies on.
//
// A case throws Failed or Skipped; PeerEnded if the other end has ended the case.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netplugin/net.h"
#include "oob_channel.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::netplugin {

struct Failed {
  std::string reason;
};
struct Skipped {
  std::string reason;
};

/// One end of a connection of the plugin.
struct End {
  void* comm = nullptr;
  bool sends = false;
};

/// Pages that can be registered on a comm.
class Block {
 public:
  Block(std::size_t bytes);
  ~Block();
  Block(Block&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Message part(std::size_t offset, std::size_t bytes, int tag = 0) const {
    return {data_ + offset, bytes, tag, registration};
  }

  void* registration = nullptr;

 private:
  std::byte* data_;
  std::size_t bytes_;
};

/// A buffer for a handle, followed by guard bytes that show whether the plugin wrote too much.
class HandleBuffer {
 public:
  HandleBuffer();
  void* data() { return bytes_.data(); }
  /// The 128 bytes of the handle.
  std::string text() const;
  void put(std::string_view handle);
  /// Number of bytes written behind the handle, 0 if none.
  std::size_t overrun() const;
  bool untouched() const;

 private:
  static constexpr unsigned char kFill = 0xA5;
  std::array<unsigned char, 4096> bytes_;
};

/// The sizes that test() gave, for each buffer of each post.
using Sizes = std::vector<std::vector<int>>;

class CaseRunner {
 public:
  CaseRunner(Net& net, bool sender, int device, OobChannel& oob, Deadline deadline, char* step)
      : net_(net), sender_(sender), device_(device), oob_(oob), deadline_(deadline), step_(step) {}

  bool sender() const { return sender_; }
  int device() const { return device_; }
  Net& net() { return net_; }
  OobChannel& oob() { return oob_; }
  const Deadline& deadline() const { return deadline_; }
  const Properties& properties();  ///< of the device, read once

  /// The current step, for the report of a crash or a hang: "in closeSend()".
  void step(std::string_view what);
  /// Notes something that the interface forbids and NCCL works with: the case goes on, and WARNs if
  /// nothing fails.
  void warn(std::string what);
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// warn() about a size that test() gave; one such warning is enough for a case.
  void warn_of_size(std::string what);
  bool warned_of_size() const { return warned_of_size_; }
  /// Throws Failed that names the call if the result is an error.
  void good(std::string_view call, abi::Result result) const;
  /// Waits until the other end calls meet() too.
  void meet();
  /// To be called in a loop that waits for the plugin. Throws Failed with `what` after the
  /// deadline, PeerEnded when the other end has ended.
  void pause(std::string_view what);

  /// A connection from the sender to the receiver; with forward = false from receiver to sender.
  End open(bool forward = true);
  void close(End end);
  /// meet(), then close().
  void finish(End end);

  void* listen(HandleBuffer& handle);
  void* accept(void* listening);
  void* connect(HandleBuffer& handle);

  Block block(End end, std::size_t bytes);
  void release(End end, Block& block);

  /// Posts all groups in order with at most `window` in flight, and waits for all. On the sending
  /// end a group is one message. If a post gives a null request, it is posted again later. `early`
  /// are the requests of the first groups, where they are posted already.
  Sizes run(End end, std::span<const std::vector<Message>> posts, int window = abi::kMaxRequests,
            std::span<void* const> early = {});
  int run_one(End end, const Message& message);

  /// One call of isend or irecv. Null: try again later.
  void* post(End end, std::span<const Message> group);
  /// Calls again until there is a request; fails with `late` after the deadline.
  void* post_one(End end, const Message& message, std::string_view late);
  /// Tests until the request is done; fails with `late` after the deadline.
  void await(void* request, std::string_view what, std::string_view late);
  /// Whether the request is done; then `sizes` has the sizes of `count` buffers.
  bool test(void* request, std::size_t count, std::vector<int>& sizes, std::string_view what);

 private:
  Net& net_;
  bool sender_;
  int device_;
  OobChannel& oob_;
  Deadline deadline_;
  char* step_;
  std::unique_ptr<Properties> properties_;
  std::vector<std::string> warnings_;
  bool warned_of_size_ = false;
  std::atomic<std::uint32_t> pauses_{0};
};

/// Fills in a pattern that depends on the seed and on the position.
void fill(std::byte* data, std::size_t bytes, std::uint64_t seed);
/// Throws Failed if the bytes are not the pattern of `seed`. Says the first wrong position, or
/// which of the first `seeds` messages it is.
void expect(const std::byte* data, std::size_t bytes, std::uint64_t seed, std::string_view what,
            std::uint64_t seeds = 0);
/// Throws Failed unless all bytes are `value`.
void expect_untouched(const std::byte* data, std::size_t bytes, std::byte value,
                      std::string_view what);

/// One connection, a message that arrives whole, and the end of the connection.
void move_one(CaseRunner& runner);

/// Checks what test() said of a message of `wanted` bytes.
void expect_size(CaseRunner& runner, int size, std::size_t wanted, std::string_view what);

using CaseFunction = void (*)(CaseRunner&);
CaseFunction find_case(std::string_view id);  ///< null where there is none

namespace cases_of {
void init(CaseRunner& runner);
void properties(CaseRunner& runner);
void handle(CaseRunner& runner);
void connect(CaseRunner& runner);
void registration(CaseRunner& runner);
void message(CaseRunner& runner);
void order(CaseRunner& runner);
void larger_receive(CaseRunner& runner);
void zero_bytes(CaseRunner& runner);
void sizes_of_test(CaseRunner& runner);
void late_receive(CaseRunner& runner);
void outstanding(CaseRunner& runner);
void tags(CaseRunner& runner);
void group_order(CaseRunner& runner);
void outstanding_groups(CaseRunner& runner);
void optional_completion(CaseRunner& runner);
void larger_send(CaseRunner& runner);
void both_ways(CaseRunner& runner);
void independence(CaseRunner& runner);
void threads(CaseRunner& runner);
void flush(CaseRunner& runner);
void reopen(CaseRunner& runner);
void close_busy_send(CaseRunner& runner);
void close_busy_receive(CaseRunner& runner);
void peer_leaves(CaseRunner& runner);
void finalize(CaseRunner& runner);
}  // namespace cases_of

}  // namespace rdmabench::inline v1::netplugin
