// One connection: a sender or a receiver over two carriers.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "carrier.h"
#include "netplugin/abi.h"
#include "rdmabench/control/channel.h"
#include "wire.h"

namespace rdmabench::netplugin::plugin {

/// Both carriers of a connection, and the TCP connection by which it was made: when that ends, so
/// has the peer.
struct Link {
  control::Channel channel;
  std::unique_ptr<Carrier> small;
  std::unique_ptr<Carrier> large;
  std::uint32_t slots;
  std::uint32_t chunk;  ///< bytes of a slot of `large`
};

class Comm;

/// What NCCL gets as a request.
struct Request {
  Comm* comm = nullptr;
  std::uint32_t index = 0;
};

/// Thread rule: one thread at a time. No function but the constructor throws.
class Comm : protected Arrivals {
 public:
  explicit Comm(Link link) : link_(std::move(link)) {}
  virtual ~Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  virtual abi::Result test(const Request& request, int* done, int* bytes) noexcept = 0;

  /// From then on only linger() may be called: what is under way is dropped, what is owed is sent.
  void close() noexcept { closing_ = true; }
  /// One step of the end. True when the peer has said farewell too, or is no more.
  bool linger() noexcept;
  const std::string& trouble() const noexcept { return trouble_; }

 protected:
  /// Polls both carriers and sends what is owed. False when the connection has failed.
  bool progress() noexcept;
  virtual void push() noexcept = 0;  ///< what is owed, as far as there is room
  virtual bool owes() const noexcept = 0;
  virtual bool say_farewell() noexcept = 0;
  void fail(const std::string& why) noexcept;
  Carrier& carrier(Lane lane) noexcept { return lane == Lane::small ? *link_.small : *link_.large; }
  bool post(Lane lane, std::uint32_t slot) noexcept;  ///< false: busy, or failed

  Link link_;
  bool failed_ = false;
  bool closing_ = false;
  bool said_farewell_ = false;
  bool heard_farewell_ = false;
  std::uint64_t pieces_ = 0;       ///< that were sent and confirmed, or received
  std::uint64_t peer_pieces_ = 0;  ///< of the peer's farewell

 private:
  std::string trouble_;
  std::uint32_t vain_ = 0;
};

class Sender final : public Comm {
 public:
  explicit Sender(Link link);
  /// A null request where no receive is announced that it fits.
  abi::Result send(const void* data, std::size_t bytes, int tag, void** request) noexcept;
  abi::Result test(const Request& request, int* done, int* bytes) noexcept override;

 private:
  static constexpr std::uint32_t kMaxSends = abi::kMaxRequests * kMaxGroup;
  struct Send {
    Request request;
    bool used = false;
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t posted = 0;
    bool all_posted = false;
    std::uint32_t unconfirmed = 0;
    std::uint32_t group = 0;
    std::uint32_t member = 0;
  };
  struct Announced {
    std::uint32_t id = 0;
    std::uint32_t count = 0;
    std::uint32_t taken = 0;
    std::array<Buffer, kMaxGroup> buffers{};
    std::array<bool, kMaxGroup> used{};
  };
  struct Slots {
    std::vector<std::uint32_t> free;
    std::vector<std::int32_t> owner;  ///< of each slot the send, -1 none, -2 free
  };

  void arrived(const std::byte* slot, std::uint64_t bytes) noexcept override;
  void push() noexcept override;
  bool owes() const noexcept override { return false; }
  bool say_farewell() noexcept override;
  bool push_one(Send& send) noexcept;
  bool post_piece(const Piece& piece, const std::byte* data) noexcept;
  void announce(const Group& group) noexcept;
  void confirm(const Confirmation& confirmation) noexcept;
  Slots& slots(Lane lane) noexcept { return slots_[static_cast<std::size_t>(lane)]; }

  std::array<Announced, kMaxGroups> announced_;  ///< by number, modulo
  std::uint32_t first_group_ = 0;                ///< the oldest that is not yet full
  std::array<bool, kMaxGroups> present_{};
  std::array<Send, kMaxSends> sends_;
  std::deque<std::uint32_t> queue_;  ///< sends that are not all posted
  std::array<Slots, 2> slots_;
};

class Receiver final : public Comm {
 public:
  explicit Receiver(Link link);
  abi::Result receive(int count, void** data, const std::size_t* bytes, const int* tags,
                      void** request) noexcept;
  abi::Result test(const Request& request, int* done, int* bytes) noexcept override;

 private:
  struct Target {
    std::byte* data = nullptr;
    std::uint64_t room = 0;
    std::uint64_t received = 0;
    std::uint64_t total = 0;
    bool begun = false;  ///< its size is known
    bool refused = false;
    bool complete() const { return refused || (begun && received == total); }
  };
  struct Receive {
    Request request;
    bool used = false;
    std::uint32_t id = 0;
    std::uint32_t count = 0;
    std::array<std::int32_t, kMaxGroup> tags{};
    std::array<Target, kMaxGroup> targets;
  };

  void arrived(const std::byte* slot, std::uint64_t bytes) noexcept override;
  void push() noexcept override;
  bool owes() const noexcept override { return !confirmations_.empty(); }
  bool say_farewell() noexcept override;
  void take(const Piece& piece, const std::byte* data, std::uint64_t most) noexcept;
  /// A slot to say something in, or null: they are used again when all have completed.
  std::byte* room() noexcept;

  std::array<Receive, kMaxGroups> receives_;
  std::uint32_t next_group_ = 0;
  std::uint32_t next_announced_ = 0;
  std::uint32_t next_slot_ = 0;
  struct Owed {
    Lane lane;
    std::uint16_t slot;
  };
  std::vector<Owed> confirmations_;
};

}  // namespace rdmabench::netplugin::plugin
