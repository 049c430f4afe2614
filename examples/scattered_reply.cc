// Two processes: one asks, the other answers each request by 16 writes to scattered places of the
// asking side's memory. The last write carries an immediate, which tells that all are there.
//
//   scattered_reply BACKEND PROVIDER              answers; prints the TCP port that it listens on
//   scattered_reply BACKEND PROVIDER HOST PORT    asks; for verbs PROVIDER is ""
#include <cstdio>
#include <string>
#include <vector>

#include <rdmabench/base/error.h>
#include <rdmabench/control/listener.h>
#include <rdmabench/run/connect.h>
#include <rdmabench/workload/epoch_io.h>

using namespace rdmabench;
using transport::Send, transport::Write, transport::WriteImm;
constexpr std::uint64_t kRequests = 1000, kPieces = 16, kPiece = 256, kLast = 15 * kPiece;

template <transport::Transport T>
void converse(T& endpoint, std::vector<std::byte>& memory, bool asks) {
  workload::EpochResult result;
  workload::Watch watch(std::chrono::seconds(5), [] { return false; });
  workload::EpochIo<T> io(endpoint, {.receives = kPieces}, watch, result);  // polls, makes room
  const auto must = [&](bool good) {
    if (!good) throw Error(Fault::failed, "no progress for 5 s, or: " + endpoint.failure());
  };
  const auto post = [&]<class Op>(Op /*operation*/, const transport::Message& message) {
    must(io.template post<Op>(message, transport::Signal::now));
  };
  bool heard = false;
  const auto on_receive = [&](const transport::Received& received) noexcept {
    io.give_back(received.slot);
    heard = true;
  };
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    if (asks) post(Send(), {.local = 0, .remote = 0, .bytes = 64, .word = 0});
    // NOLINTNEXTLINE(bugprone-infinite-loop): on_receive() ends it
    while (!heard) must(io.poll(workload::Wait::message, on_receive));
    heard = false;
    must(io.drain());  // what was posted before has left the memory
    for (std::uint64_t k = 0; k < kPieces; ++k) {
      if (asks) must(memory[2 * k * kPiece] == std::byte(i + k));
      if (!asks) memory[k * kPiece] = std::byte(i + k);
    }
    if (asks) continue;
    for (std::uint64_t at = 0; at < kLast; at += kPiece) {
      post(Write(), {.local = at, .remote = 2 * at, .bytes = kPiece, .word = 0});
    }
    must(io.drain());  // or the last write might overtake the others
    post(WriteImm(), {.local = kLast, .remote = 2 * kLast, .bytes = kPiece, .word = i});
  }
  must(io.drain());
  std::printf("1000 good replies over %s\n", endpoint.describe().provider.c_str());
}

int main(int argc, char** argv) try {
  const bool asks = argc > 4;
  const Deadline soon = Deadline::after(std::chrono::seconds(20));
  control::Listener listener("", 0);
  if (!asks) std::printf("listening on %d\n", listener.port()), std::fflush(stdout);
  control::Channel channel =
      asks
          ? control::Channel::connect(argv[3], static_cast<std::uint16_t>(std::stoi(argv[4])), soon)
          : listener.accept(soon).value();
  std::vector<std::byte> memory(2 * kPieces * kPiece);  // registered where it lies
  transport::EndpointRequest request;
  request.client = asks;
  request.operations = {Send::kCode, Write::kCode, WriteImm::kCode};
  request.max_size = kPiece;
  request.buffers = {memory};
  request.depth = request.receives = request.receive_slots = kPieces;
  request.options.ofi.provider = argc > 2 ? argv[2] : "";
  request.options.ofi.delivery = true;  // a completion says that the write is in the peer's memory
  run::with_connected(channel, request, argc > 1 ? argv[1] : "auto",
                      [&](auto& endpoint) { converse(endpoint, memory, asks); });
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
