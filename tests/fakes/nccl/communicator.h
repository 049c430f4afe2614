// A fake communicator: its peers, its queue of operations, and its state.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "controls.h"
#include "mesh.h"
#include "numbers.h"

namespace fake_nccl {

enum class Kind { all_reduce, reduce, broadcast, reduce_scatter, all_gather, exchange };

/// One collective, or all sends and receives of a group.
struct Operation {
  Kind kind = Kind::exchange;
  const char* name = "";
  const unsigned char* send = nullptr;  ///< host addresses of the memory
  unsigned char* receive = nullptr;
  std::size_t count = 0;
  int type = 0;
  int root = 0;
  Combine combine;
  std::vector<Piece> sends;
  std::vector<Piece> receives;
};

struct Communicator {
  Communicator(int self, int all)
      : mesh(self, all), asked(controls(self)), rank(self), ranks(all) {}
  ~Communicator();

  /// Runs the operations of one group in order; on a stream's thread, perhaps several times.
  void run(const std::vector<Operation>& operations);

  void trace(const std::string& line) const;

  Mesh mesh;
  Controls asked;
  int rank;
  int ranks;
  std::thread init;
  bool blocking = false;
  std::uint64_t calls = 0;               ///< of collectives
  std::atomic<int> state{7};             ///< ncclInProgress, ncclSuccess or an error
  std::atomic<std::uint64_t> begun{0};   ///< operations that have started
  std::atomic<void*> profiler{nullptr};  ///< the plugin's context
  std::atomic<int> captured{0};          ///< launches in graphs that exist
  std::set<Kind> connected;     ///< of operations that have been called outside of a capture
  std::vector<Combine> scaled;  ///< premul-sums, from ncclNumOps on

 private:
  bool run_one(const Operation& operation, std::uint64_t number);
  void wait_for_stop();
};

}  // namespace fake_nccl
