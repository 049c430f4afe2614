// One rank of a job that a real launcher started: it meets the others as the library's user would.
// Usage: rendezvous_peer meet|missing|killed|after. Exits 0 when all came as it should.
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
#include "rdmabench/collective/rank_group.h"
#include "rdmabench/control/rendezvous.h"

namespace {

using namespace std::chrono_literals;
using rdmabench::Deadline;
using rdmabench::collective::RankGroup;
using rdmabench::control::Rendezvous;

constexpr auto kPatience = 20s;
constexpr auto kBrief = 1s;
constexpr auto kLonger = 4s;  // what the rank that is missed sleeps

std::unique_ptr<RankGroup> connect(Rendezvous& self, std::chrono::seconds patience) {
  const Deadline deadline = Deadline::after(patience);
  const auto& [rank, size, host, source] = self.place();
  auto found = self.meet("peer", 0, deadline);
  const auto own = rdmabench::collective::this_rank(rank);
  return rank == 0
             ? RankGroup::lead(*found.listener, found.address, size, own, {}, deadline)
             : RankGroup::join(found.address, {.rank = rank, .size = size}, own, {}, deadline);
}

void meet(Rendezvous& self) {
  const auto group = connect(self, kPatience);
  const auto& [rank, size, host, source] = self.place();
  if (rank == 0) std::printf("%u ranks met on %s by %s\n", size, host.c_str(), source.c_str());
  group->barrier(Deadline::after(kPatience));
}

/// Once all have met and left, the death of one is no longer the launcher's business.
void go_on(std::unique_ptr<Rendezvous> self) {
  const std::uint32_t rank = self->place().rank;
  const auto group = connect(*self, kPatience);
  self.reset();
  group->barrier(Deadline::after(kPatience));
  std::this_thread::sleep_for(300ms);
  if (rank == 1) static_cast<void>(std::raise(SIGKILL));
  std::this_thread::sleep_for(kBrief);
  std::printf("rank %u goes on\n", rank);
}

/// Rank 1 was started, but does not come in time: it sleeps, or is killed. The others say so.
void miss(Rendezvous& self, bool killed) {
  if (self.place().rank == 1) {
    std::this_thread::sleep_for(killed ? 300ms : std::chrono::milliseconds(kLonger));
    if (killed) static_cast<void>(std::raise(SIGKILL));
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  try {
    connect(self, kBrief);
  } catch (const rdmabench::Error& error) {
    if (std::chrono::steady_clock::now() - start > kLonger) {
      throw std::runtime_error("a failure that came too late");
    }
    std::printf("%s\n", error.what());
    return;
  }
  throw std::runtime_error("no error where one was due");
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
