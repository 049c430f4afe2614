// The processes of a fake communicator and the TCP connections between every two of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fake_nccl {

/// What a unique id says: where rank 0's process listens.
struct Address {
  std::uint64_t magic = 0;
  std::uint16_t port = 0;
};
inline constexpr std::uint64_t kMagic = 0x6661'6b65'6e63'636cU;

/// Opens the place where the ranks of one communicator meet, served by a detached thread.
/// A magic of 0 says that it could not.
Address open_root();

struct Piece {
  int peer;
  unsigned char* data;
  std::size_t bytes;
};

class Mesh {
 public:
  Mesh(int rank, int ranks) : rank_(rank), sockets_(static_cast<std::size_t>(ranks), -1) {}
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  /// Meets the others; false when it cannot or `stop` was set.
  bool connect(const Address& root);

  /// Sends and receives all pieces at once, in the order of the list for each peer. Each message
  /// says its operation's number and length; a peer that says another is a mismatch: false.
  bool exchange(std::uint64_t number, const std::vector<Piece>& sends,
                const std::vector<Piece>& receives);

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(sockets_.size()); }

  std::atomic<bool> stop{false};  ///< ends every wait

 private:
  bool write_all(int fd, const void* data, std::size_t bytes);
  bool read_all(int fd, void* data, std::size_t bytes);
  bool ready(int fd, short events);

  int rank_;
  std::vector<int> sockets_;
};

}  // namespace fake_nccl
