// The processes of a fake communicator and the TCP connections between every two of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fake_nccl {

/// The content of a unique id: the address of rank 0's process.
struct Address {
  std::uint64_t magic = 0;
  std::uint16_t port = 0;
};
inline constexpr std::uint64_t kMagic = 0x6661'6b65'6e63'636cU;

/// Opens the rendezvous of one communicator's ranks, served by a detached thread. A magic of 0
/// means failure.
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

  /// Connects to the other ranks; false if it fails or `stop` is set.
  bool connect(const Address& root);

  /// Sends and receives all pieces concurrently, in the order of the list for each peer. Each
  /// message has its operation's number and length; false if a peer's differ.
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
