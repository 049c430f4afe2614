// A message from memory of malloc() to memory of mmap(), registered where it lies: it arrives at
// the place that the sender named, and nowhere else.
//
//   caller_memory BACKEND PROVIDER [ADDRESS]    both sides in this process, joined over ADDRESS
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <span>
#include <string>

#include <rdmabench/base/error.h>
#include <rdmabench/control/listener.h>
#include <rdmabench/run/connect.h>
#include <rdmabench/workload/epoch_io.h>

using namespace rdmabench;
using transport::WriteImm;
constexpr std::uint64_t kMemory = 65536, kFrom = 1000, kTo = 20001, kBytes = 3000;
constexpr std::byte kUntouched{0xee};

std::byte content(std::uint64_t i) {
  return static_cast<std::byte>(i * 7 % 251);
}

template <transport::Transport T>
void visit(T& endpoint, std::span<std::byte> memory, bool client) {
  const auto demand = [&](bool good, const std::string& what) {
    if (!good) throw Error(Fault::failed, what + ": " + endpoint.failure());
  };
  workload::EpochResult result;
  workload::Watch watch(std::chrono::seconds(5), [] { return false; });
  workload::EpochIo<T> io(endpoint, {}, watch, result);
  demand(endpoint.window().data == memory.data(), "the window is not the caller's memory");
  if (client) {
    const transport::Message message{.local = kFrom, .remote = kTo, .bytes = kBytes, .word = 42};
    const bool posted = io.template post<WriteImm>(message, transport::Signal::now);
    return demand(posted && io.drain(), "the write failed");
  }
  std::uint32_t immediate = 0;
  const auto on_receive = [&](const transport::Received& received) noexcept {
    immediate = received.immediate;
  };
  while (immediate == 0) {
    demand(io.poll(workload::Wait::message, on_receive), "no message came in 5 s");
  }
  demand(immediate == 42, "another immediate arrived");
  for (std::uint64_t i = 0; i < kMemory; ++i) {
    const bool inside = i >= kTo && i < kTo + kBytes;
    demand(memory[i] == (inside ? content(i - kTo + kFrom) : kUntouched), "a wrong byte");
  }
}

/// One side, with memory of its own.
void converse(control::Channel channel, const char* backend, const char* provider, bool client) {
  const auto unmap = [](void* pages) { munmap(pages, kMemory); };
  const std::unique_ptr<void, void (*)(void*)> owner(
      client ? std::malloc(kMemory)
             : mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      client ? std::free : +unmap);
  const std::span memory(static_cast<std::byte*>(owner.get()), kMemory);
  for (std::uint64_t i = 0; i < kMemory; ++i) memory[i] = client ? content(i) : kUntouched;
  transport::EndpointRequest request;
  request.client = client;
  request.operations = WriteImm::kCode;
  request.max_size = kBytes;
  request.buffers = {memory};
  request.options.ofi.provider = provider;
  request.options.ofi.delivery =
      request.options.ofi.provider == "tcp";  // a completion says that the peer has it all
  run::with_connected(channel, request, backend, [&]<class T>(T& endpoint) {
    if constexpr (T::template supports<WriteImm>) return visit(endpoint, memory, client);
    throw Error(Fault::unavailable, "this back end has no write-imm");
  });
}

int main(int argc, char** argv) try {
  const char* const backend = argc > 1 ? argv[1] : "auto";
  const char* const provider = argc > 2 ? argv[2] : "";
  const Deadline soon = Deadline::after(std::chrono::seconds(20));
  control::Listener listener("", 0);
  auto peer = std::async(std::launch::async, [&] {
    converse(listener.accept(soon).value(), backend, provider, false);
  });
  const std::string address = argc > 3 ? argv[3] : "127.0.0.1";
  converse(control::Channel::connect(address, listener.port(), soon), backend, provider, true);
  peer.get();
  std::printf("3000 bytes from malloc to malloc over %s %s\n", backend, provider);
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
