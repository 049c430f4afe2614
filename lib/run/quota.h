// What the clients of a server may have of it at once, all together and from each address.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace rdmabench::run {

struct Usage {
  std::uint64_t sessions = 0;
  std::uint64_t threads = 0;
  std::uint64_t memory = 0;  ///< bytes
  std::uint64_t descriptors = 0;
};

/// Thread rule: any thread. It must outlive its shares.
class Quota {
 public:
  /// What one session has taken. Gives it back when it goes.
  class Share {
   public:
    Share() = default;
    ~Share() { give_back(); }
    Share(Share&& other) noexcept
        : quota_(std::exchange(other.quota_, nullptr)),
          address_(std::move(other.address_)),
          used_(other.used_) {}
    Share& operator=(Share&& other) noexcept {
      give_back();
      quota_ = std::exchange(other.quota_, nullptr);
      address_ = std::move(other.address_);
      used_ = other.used_;
      return *this;
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    void give_back() noexcept;

   private:
    friend class Quota;
    Quota* quota_ = nullptr;
    std::string address_;
    Usage used_;
  };

  Quota(const Usage& all, const Usage& each) : all_(all), each_(each) {}
  Quota(const Quota&) = delete;
  Quota& operator=(const Quota&) = delete;

  /// Takes `wanted` for a client at `address`. Throws Error(failed) that names the limit, who has
  /// how much of it, and the option that raises it; nothing is taken then.
  Share take(const std::string& address, const Usage& wanted);

 private:
  void give_back(const std::string& address, const Usage& used) noexcept;

  Usage all_;
  Usage each_;
  std::mutex mutex_;
  Usage total_;
  std::map<std::string, Usage> of_address_;  ///< of those that have something
};

}  // namespace rdmabench::run
