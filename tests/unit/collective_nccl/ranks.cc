#include "ranks.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::collective::nccl {

std::vector<std::string> ExchangePoint::all_gather(std::uint32_t rank, std::string_view mine,
                                                   Deadline deadline) {
  std::unique_lock lock(mutex_);
  const std::uint64_t round = round_;
  texts_[rank] = mine;
  if (++come_ == texts_.size()) {
    result_ = texts_;
    come_ = 0;
    ++round_;
    changed_.notify_all();
    return result_;
  }
  if (!changed_.wait_for(lock, deadline.left(), [&] { return round_ != round; })) {
    throw Error(Fault::failed, "a rank did not come");
  }
  return result_;
}

namespace {

/// Of this thread's rank. The fake driver frees memory only once no stream of the process has work,
/// so ranks that are threads prepare and run in step.
thread_local ExchangePoint* my_point = nullptr;
thread_local std::uint32_t my_rank = 0;

void keep_step() {
  if (my_point != nullptr) my_point->all_gather(my_rank, "", soon());
}

std::string run_all(NcclBackend& backend, std::uint32_t slots, std::chrono::nanoseconds wait) {
  const Deadline deadline = Deadline::after(wait);
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    if (!backend.start(slot, 1)) return backend.failure();
  }
  while (true) {
    switch (backend.test()) {
      case Progress::done:
        return "";
      case Progress::failed:
        return backend.failure();
      case Progress::again:
        break;
    }
    if (deadline.passed()) return "not done in time";
    std::this_thread::yield();
  }
}

}  // namespace

std::string run_ranks(std::uint32_t size, const NcclOptions& options, const RankDoes& rank_does,
                      std::chrono::nanoseconds open_wait) {
  ExchangePoint point(size);
  std::vector<std::string> errors(size);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      my_point = &point;
      my_rank = rank;
      try {
        ThreadExchange exchange(point, rank);
        NcclOptions own = options;
        own.device = std::to_string(rank);
        NcclBackend backend(own);
        backend.open({rank, size}, exchange, Deadline::after(open_wait));
        rank_does(backend, {rank, size});
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) {
    if (!error.empty()) return error;
  }
  return "";
}

std::string run_slots(NcclBackend& backend, std::uint32_t slots, std::chrono::nanoseconds wait) {
  keep_step();
  std::string said = run_all(backend, slots, wait);
  keep_step();
  return said;
}

namespace {

template <class T>
std::vector<std::byte> raw(T value) {
  std::vector<std::byte> out(sizeof value);
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

/// Of a floating type of so many bits, for numbers that are exact and normal in it.
std::uint32_t float_bits(double value, int exponent_bits, int fraction_bits) {
  if (value == 0) return 0;
  const int exponent = std::ilogb(value);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double fraction = std::ldexp(value, -exponent) - 1;
  return static_cast<std::uint32_t>(exponent + bias) << fraction_bits |
         static_cast<std::uint32_t>(std::ldexp(fraction, fraction_bits));
}

}  // namespace

std::vector<std::byte> bytes_of_value(DataType type, double value) {
  switch (type) {
    case DataType::int8:
      return raw(static_cast<std::int8_t>(value));
    case DataType::uint8:
      return raw(static_cast<std::uint8_t>(value));
    case DataType::int32:
      return raw(static_cast<std::int32_t>(value));
    case DataType::uint32:
      return raw(static_cast<std::uint32_t>(value));
    case DataType::int64:
      return raw(static_cast<std::int64_t>(value));
    case DataType::uint64:
      return raw(static_cast<std::uint64_t>(value));
    case DataType::half:
      return raw(static_cast<std::uint16_t>(float_bits(value, 5, 10)));
    case DataType::float32:
      return raw(static_cast<float>(value));
    case DataType::float64:
      return raw(value);
    case DataType::bfloat16:
      return raw(static_cast<std::uint16_t>(float_bits(value, 8, 7)));
    case DataType::f8e4m3:
      return raw(static_cast<std::uint8_t>(float_bits(value, 4, 3)));
    case DataType::f8e5m2:
      return raw(static_cast<std::uint8_t>(float_bits(value, 5, 2)));
  }
  return {};
}

}  // namespace rdmabench::inline v1::collective::nccl
