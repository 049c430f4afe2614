// One end of a case: the plugin's calls with their results held against what NCCL relies on.
//
// What a case finds it throws: Failed or Skipped, and PeerEnded where the other end has found
// something.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netplugin/net.h"
#include "rdmabench/base/deadline.h"
#include "wire.h"

namespace rdmabench::netplugin {

struct Failed {
  std::string reason;
};
struct Skipped {
  std::string reason;
};

/// One end of a connection.
struct End {
  void* comm = nullptr;
  bool sends = false;
};

/// Pages of their own, registered on a comm.
class Block {
 public:
  Block(std::size_t bytes);
  ~Block();
  Block(Block&& other) noexcept;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  Block& operator=(Block&&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// The part of it as a message.
  Message part(std::size_t offset, std::size_t bytes, int tag = 0) const {
    return {data_ + offset, bytes, tag, registration};
  }

  void* registration = nullptr;

 private:
  std::byte* data_;
  std::size_t bytes_;
};

/// What a handle lies in, with room behind it in which nothing may be written.
class HandleRoom {
 public:
  HandleRoom();
  void* data() { return bytes_.data(); }
  /// The 128 bytes of the handle.
  std::string text() const;
  void put(std::string_view handle);
  /// Bytes beyond the handle that were written, 0 if none.
  std::size_t overrun() const;
  bool untouched() const;

 private:
  static constexpr unsigned char kFill = 0xA5;
  std::array<unsigned char, 4096> bytes_;
};

/// Posts and what came of them: the sizes that test() gave, of each buffer of each post.
using Sizes = std::vector<std::vector<int>>;

class Side {
 public:
  Side(Net& net, bool sender, int device, Wire& wire, Deadline deadline, char* step)
      : net_(net),
        sender_(sender),
        device_(device),
        wire_(wire),
        deadline_(deadline),
        step_(step) {}

  bool sender() const { return sender_; }
  int device() const { return device_; }
  Net& net() { return net_; }
  Wire& wire() { return wire_; }
  const Deadline& deadline() const { return deadline_; }
  const Properties& properties();  ///< of the device, asked for once

  /// What a crash or a hang will be said to have happened at: "closing the sender".
  void step(std::string_view what);
  /// Throws Failed that names the call where the result is an error.
  void good(std::string_view call, abi::Result result) const;
  /// Both ends have come here.
  void meet();
  /// Within a loop that waits for the plugin. Throws Failed with `what` after the deadline,
  /// PeerEnded.
  void pause(std::string_view what);

  /// A connection from the sender to the receiver, or with forward = false the other way.
  End open(bool forward = true);
  void close(End end);
  /// Both ends have come here, and close.
  void finish(End end);

  void* listen(HandleRoom& handle);
  void* accept(void* listening);
  void* connect(HandleRoom& handle);

  Block block(End end, std::size_t bytes);
  void release(End end, Block& block);

  /// Posts each group (of one message where the end sends), in order and at most `window` under
  /// way, and waits for all. What a post says by a null request is heeded.
  Sizes run(End end, std::span<const std::vector<Message>> posts, int window = abi::kMaxRequests);
  int run_one(End end, const Message& message);

  /// One call of isend or irecv; null: try later.
  void* post(End end, std::span<const Message> group);
  /// Whether it is done; sizes of `count` buffers.
  bool test(void* request, std::size_t count, std::vector<int>& sizes, std::string_view what);

 private:
  Net& net_;
  bool sender_;
  int device_;
  Wire& wire_;
  Deadline deadline_;
  char* step_;
  std::unique_ptr<Properties> properties_;
  std::atomic<std::uint32_t> pauses_{0};
};

/// A pattern that tells messages and places in them apart.
void fill(std::byte* data, std::size_t bytes, std::uint64_t seed);
/// Throws Failed that says where and, where it is another message of this case, which.
void expect(const std::byte* data, std::size_t bytes, std::uint64_t seed, std::string_view what,
            std::uint64_t seeds = 0);
/// Throws Failed unless all of them are `value`.
void expect_untouched(const std::byte* data, std::size_t bytes, std::byte value,
                      std::string_view what);

/// The cases themselves; the rows of cases() name them in this order.
using Run = void (*)(Side&);
Run find_case(std::string_view id);  ///< null where there is none

namespace cases_of {
void init(Side& side);
void properties(Side& side);
void handle(Side& side);
void connect(Side& side);
void registration(Side& side);
void message(Side& side);
void order(Side& side);
void larger_receive(Side& side);
void zero_bytes(Side& side);
void sizes_of_test(Side& side);
void late_receive(Side& side);
void outstanding(Side& side);
void tags(Side& side);
void group_order(Side& side);
void outstanding_groups(Side& side);
void optional_completion(Side& side);
void larger_send(Side& side);
void both_ways(Side& side);
void independence(Side& side);
void threads(Side& side);
void flush(Side& side);
void reopen(Side& side);
void close_busy_send(Side& side);
void close_busy_receive(Side& side);
void peer_leaves(Side& side);
void finalize(Side& side);
}  // namespace cases_of

}  // namespace rdmabench::netplugin
