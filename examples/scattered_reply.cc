// Two processes with three buffers each, which are registered where they lie: one asks, the other
// answers each request by 4000 writes from its buffers to scattered places in those of the asking
// side. The last write carries an immediate, which tells that all are there.
//
//   scattered_reply BACKEND PROVIDER              answers; prints the TCP port that it listens on
//   scattered_reply BACKEND PROVIDER HOST PORT    asks; for verbs PROVIDER is ""
#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <rdmabench/base/error.h>
#include <rdmabench/control/listener.h>
#include <rdmabench/run/connect.h>
#include <rdmabench/workload/epoch_io.h>

using namespace rdmabench;
using transport::RegionMessage, transport::Send, transport::Signal;
using transport::Write, transport::WriteImm;
constexpr std::uint64_t kRequests = 10, kPieces = 4000, kLast = kPieces - 1, kPiece = 64;
constexpr std::uint64_t kRows = (kPieces + 2) / 3;  // pieces in a buffer
constexpr std::uint32_t kDepth = 64;
using Buffers = std::array<std::vector<std::byte>, 3>;

/// From which buffer piece k leaves, and where in the peer's it goes.
RegionMessage piece(std::uint64_t k) {
  const std::uint64_t row = k / 3;
  return {.local = transport::RegionId(k % 3),
          .remote = transport::RegionId((k + row) % 3),
          .local_at = row * kPiece,
          .remote_at = row * 5 % kRows * kPiece,
          .bytes = kPiece};
}

template <transport::Transport T>
void converse(T& endpoint, Buffers& buffers, bool asks) {
  workload::EpochResult result;
  workload::Watch watch(std::chrono::seconds(5), [] { return false; });
  workload::EpochIo<T> io(endpoint, {.receives = kDepth}, watch, result);  // polls, makes room
  const auto must = [&](bool good) {
    if (!good) throw Error(Fault::failed, "no progress for 5 s, or: " + endpoint.failure());
  };
  bool heard = false;
  const auto on_receive = [&](const transport::Received& received) noexcept {
    io.give_back(received.slot);
    heard = true;
  };
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    if (asks) must(io.template post<Send>(RegionMessage{.bytes = kPiece}, Signal::now));
    // NOLINTNEXTLINE(bugprone-infinite-loop): on_receive() ends it
    while (!heard) must(io.poll(workload::Wait::message, on_receive));
    heard = false;
    must(io.drain());  // what was posted before has left the memory
    for (std::uint64_t k = 0; k < kPieces; ++k) {
      const RegionMessage at = piece(k);
      std::byte* const bytes =
          asks ? &buffers[at.remote][at.remote_at] : &buffers[at.local][at.local_at];
      for (std::byte& byte : std::span(bytes, kPiece)) {
        if (asks) must(byte == std::byte(i + k));
        if (!asks) byte = std::byte(i + k);
      }
    }
    if (asks) continue;
    for (std::uint64_t k = 0; k < kLast; ++k) {
      const Signal signal = k + 1 == kLast ? Signal::now : Signal::by_interval;
      must(io.template post<Write>(piece(k), signal));
    }
    must(io.drain());  // or the last write might overtake the others
    must(io.template post<WriteImm>(piece(kLast), Signal::now));
  }
  must(io.drain());
  std::printf("10 good replies of 4000 writes over %s\n", endpoint.describe().provider.c_str());
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
  Buffers buffers;
  for (std::vector<std::byte>& buffer : buffers) buffer.resize(kRows * kPiece);
  transport::EndpointRequest request;
  request.client = asks;
  request.operations = {Send::kCode, Write::kCode, WriteImm::kCode};
  request.max_size = kPiece;
  request.buffers.assign(buffers.begin(), buffers.end());
  request.depth = request.receives = request.receive_slots = kDepth;
  request.signal_every = kDepth / 4;
  request.options.ofi.provider = argc > 2 ? argv[2] : "";
  request.options.ofi.delivery = true;  // a completion says that the write is in the peer's memory
  run::with_connected(channel, request, argc > 1 ? argv[1] : "auto", [&]<class T>(T& endpoint) {
    if constexpr (T::template supports<WriteImm>) return converse(endpoint, buffers, asks);
    throw Error(Fault::unavailable, "this back end has no write-imm");
  });
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
