// Ranks as threads of the test: each with a back end of its own, over the fake NCCL and driver.
#pragma once

#include <dlfcn.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "../setting.h"
#include "backend.h"

namespace rdmabench::inline v1::collective::nccl {

/// What ranks tell one another, through memory.
class ExchangePoint {
 public:
  explicit ExchangePoint(std::uint32_t size) : texts_(size) {}
  std::vector<std::string> all_gather(std::uint32_t rank, std::string_view mine, Deadline deadline);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
  std::vector<std::string> result_;
  std::size_t come_ = 0;
  std::uint64_t round_ = 0;
};

class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(ExchangePoint& point, std::uint32_t rank) : point_(point), rank_(rank) {}
  std::vector<std::string> all_gather(std::string_view mine, Deadline deadline) override {
    return point_.all_gather(rank_, mine, deadline);
  }
  std::string broadcast(std::string_view of_rank_0, Deadline deadline) override {
    return point_.all_gather(rank_, of_rank_0, deadline)[0];
  }

 private:
  ExchangePoint& point_;
  std::uint32_t rank_;
};

inline constexpr auto kPatience = std::chrono::seconds(20);
inline Deadline soon() {
  return Deadline::after(kPatience);
}

/// Calls `rank_does` for every rank in a thread of its own, with a back end that is open. What the
/// first rank that fails throws is the text that is returned; "" where none does.
using RankDoes = std::function<void(NcclBackend&, Team)>;
std::string run_ranks(std::uint32_t size, const NcclOptions& options, const RankDoes& rank_does,
                      std::chrono::nanoseconds open_wait = kPatience);

/// Starts slot 0 .. `slots` - 1 and waits for them. "" or why it failed.
std::string run_slots(NcclBackend& backend, std::uint32_t slots,
                      std::chrono::nanoseconds wait = kPatience);

/// A function of the fake driver.
template <class Function>
Function* in_the_driver(const char* name) {
  return reinterpret_cast<Function*>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name));
}

/// Its objects of a kind.
inline int alive_in_the_driver(const char* kind) {
  return in_the_driver<int(const char*)>("fake_cuda_alive")(kind);
}

/// It reads the environment again.
inline void reset_the_driver() {
  in_the_driver<void()>("fake_cuda_reset")();
}

/// A small number, exact in the type, as its bytes.
std::vector<std::byte> bytes_of_value(DataType type, double value);

}  // namespace rdmabench::inline v1::collective::nccl
