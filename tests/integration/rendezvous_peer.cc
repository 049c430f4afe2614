// One rank of a job that a real launcher started: it meets the others as the library's user would.
// Usage: rendezvous_peer meet|missing|killed|after. Exits 0 when all came as it should.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "rdmabench/base/error.h"
#include "rdmabench/control/rendezvous.h"

namespace {

using namespace std::chrono_literals;
using rdmabench::Deadline;
using rdmabench::control::Rendezvous;

constexpr auto kPatience = 20s;
constexpr auto kBrief = 1s;
constexpr auto kLonger = 4s;  // what the rank that is missed sleeps

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

std::string value_of(std::uint32_t rank, std::size_t bytes) {
  std::string value = "rank " + std::to_string(rank) + " \xc3\xa9\n";
  value.resize(std::max(bytes, value.size()), 'x');
  return value;
}

/// What every rank puts, every rank reads: small and large, before and after a barrier.
void meet(Rendezvous& self) {
  const auto [rank, size, host, source] = self.place();
  int round = 0;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{20'000}, std::size_t{131'072}}) {
    const std::string key = "round." + std::to_string(++round);
    if (rank == 1) std::this_thread::sleep_for(100ms);  // the others have to wait for its key
    self.put(key, value_of(rank, bytes));
    for (std::uint32_t other = 0; other < size; ++other) {
      require(self.get(other, key, Deadline::after(kPatience)) == value_of(other, bytes),
              "another value than was put");
    }
    self.barrier(Deadline::after(kPatience));
  }
  if (rank == 0) std::printf("%u ranks met on %s by %s\n", size, host.c_str(), source.c_str());
  self.barrier(Deadline::after(kPatience));
}

/// Once all have met and left, the death of one is no longer the launcher's business.
void go_on(std::unique_ptr<Rendezvous> self) {
  meet(*self);
  const std::uint32_t rank = self->place().rank;
  self.reset();
  std::this_thread::sleep_for(300ms);
  if (rank == 1) static_cast<void>(std::raise(SIGKILL));
  std::this_thread::sleep_for(kBrief);
  std::printf("rank %u goes on\n", rank);
}

/// A call that has to fail, and soon. Returns what it says.
std::string complaint(auto&& call) {
  const auto start = std::chrono::steady_clock::now();
  try {
    call();
  } catch (const rdmabench::Error& error) {
    require(std::chrono::steady_clock::now() - start < kLonger, "a failure that came too late");
    return error.what();
  }
  throw std::runtime_error("no error where one was due");
}

/// Rank 1 came, but neither puts a key nor reaches the barrier in time: it sleeps, or is killed.
void miss(Rendezvous& self, bool killed) {
  if (self.place().rank == 1) {
    std::this_thread::sleep_for(killed ? 300ms : std::chrono::milliseconds(kLonger));
    if (killed) static_cast<void>(std::raise(SIGKILL));
    return;
  }
  const std::string get = complaint([&] { self.get(1, "k", Deadline::after(kBrief)); });
  const std::string barrier = complaint([&] { self.barrier(Deadline::after(kBrief)); });
  std::printf("%s\n%s\n", get.c_str(), barrier.c_str());
  std::this_thread::sleep_for(kBrief + 500ms);  // the others ask rank 0 yet
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view mode = count > 1 ? arguments[1] : "meet";
  try {
    auto self = rdmabench::control::make_rendezvous({});
    if (mode == "after") {
      go_on(std::move(self));
      return 0;
    }
    mode == "meet" ? meet(*self) : miss(*self, mode == "killed");
    return 0;
  } catch (const rdmabench::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.fault());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 10;
  }
}
