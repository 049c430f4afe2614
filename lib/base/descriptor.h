// File descriptors: an owner of one, and how many a process may have.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace rdmabench::inline v1 {

/// -1 for none. Source: close(2).
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const noexcept { return number_; }

 private:
  int number_ = -1;
};

/// Raises RLIMIT_NOFILE to its hard limit, if it can: each connection takes some, and the limit
/// that a shell starts with is for programs that use select(2). Thread rule: any.
inline void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

}  // namespace rdmabench::inline v1
