#include "communicator.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace fake_nccl {

Communicator::~Communicator() {
  mesh.stop = true;
  if (init.joinable()) init.join();
}

void Communicator::trace(const std::string& line) const {
  if (asked.trace.empty()) return;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(asked.trace.c_str(), "a"),
                                                             &std::fclose);
  if (file != nullptr) std::fprintf(file.get(), "%d %s\n", rank, line.c_str());
}

void Communicator::wait_for_stop() {
  while (!mesh.stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool Communicator::run_one(const Operation& op, std::uint64_t number) {
  const std::size_t bytes = op.count * size_of(op.type);
  const auto n = static_cast<std::size_t>(ranks);
  auto* const send = const_cast<unsigned char*>(op.send);
  std::vector<Piece> sends;
  std::vector<Piece> receives;
  if (op.kind == Kind::exchange) return mesh.exchange(number, op.sends, op.receives);
  if (op.kind == Kind::broadcast) {
    if (rank == op.root) {
      for (int peer = 0; peer < ranks; ++peer) {
        if (peer != rank) sends.push_back({peer, send, bytes});
      }
      if (op.receive != send) std::memmove(op.receive, send, bytes);
    } else {
      receives.push_back({op.root, op.receive, bytes});
    }
    return mesh.exchange(number, sends, receives);
  }
  if (op.kind == Kind::all_gather) {
    std::vector<unsigned char> mine(send, send + bytes);
    for (int peer = 0; peer < ranks; ++peer) {
      sends.push_back({peer, mine.data(), bytes});
      receives.push_back({peer, op.receive + static_cast<std::size_t>(peer) * bytes, bytes});
    }
    return mesh.exchange(number, sends, receives);
  }
  // Reductions: each rank sends its prepared input, whole or by block, to the ranks that need the
  // total.
  const bool scatter = op.kind == Kind::reduce_scatter;
  const std::size_t all = scatter ? bytes * n : bytes;
  std::vector<unsigned char> mine(send, send + all);
  prepare(op.type, op.combine, ranks, mine.data(), all / size_of(op.type));
  const bool wants = op.kind != Kind::reduce || rank == op.root;
  std::vector<unsigned char> inputs(wants ? bytes * n : 0);
  for (int peer = 0; peer < ranks; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    if (op.kind != Kind::reduce || peer == op.root) {
      sends.push_back({peer, mine.data() + (scatter ? at * bytes : 0), bytes});
    }
    if (wants) receives.push_back({peer, inputs.data() + at * bytes, bytes});
  }
  if (!mesh.exchange(number, sends, receives)) return false;
  if (!wants) return true;
  for (std::size_t peer = 1; peer < n; ++peer) {
    combine(op.type, op.combine, inputs.data(), inputs.data() + peer * bytes, op.count);
  }
  finish(op.type, op.combine, ranks, inputs.data(), op.count);
  std::memcpy(op.receive, inputs.data(), bytes);
  return true;
}

namespace {

/// Byte `at` of the output of an operation on this rank; beyond its end too, to imitate an overrun,
/// if the output is one piece. Null if the output is shorter.
unsigned char* written(const Operation& op, int rank, int ranks, std::uint64_t at) {
  std::vector<Piece> pieces = op.receives;
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.data < b.data; });
  if (op.kind != Kind::exchange && (op.kind != Kind::reduce || rank == op.root)) {
    const std::size_t bytes = op.count * size_of(op.type);
    pieces = {{0, op.receive,
               op.kind == Kind::all_gather ? bytes * static_cast<std::size_t>(ranks) : bytes}};
  }
  for (const Piece& piece : pieces) {
    if (at < piece.bytes) return piece.data + at;
    at -= piece.bytes;
  }
  constexpr std::uint64_t kMostOverrun = 64;
  const bool overruns = pieces.size() == 1 && pieces.front().bytes > 0 && at < kMostOverrun;
  return overruns ? pieces.front().data + pieces.front().bytes + at : nullptr;
}

}  // namespace

void Communicator::run(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    const std::uint64_t number = begun++;
    if (asked.async_error.holds(number)) {
      state = static_cast<int>(asked.async_error.what);
      return wait_for_stop();
    }
    if (asked.stall.holds(number)) return wait_for_stop();
    if (!run_one(operation, number)) {
      if (!mesh.stop.load()) state = 6;  // ncclRemoteError; a real kernel would spin on
      return wait_for_stop();
    }
    if (asked.corrupt.holds(number)) {
      if (unsigned char* const byte = written(operation, rank, ranks, asked.corrupt.what)) {
        *byte = static_cast<unsigned char>(*byte ^ 0x10U);
      }
    }
  }
}

}  // namespace fake_nccl
