// What every rendezvous refuses before it asks anybody.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace rdmabench::control {

/// Every function throws Error(usage) as the same call of Rendezvous says.
class RendezvousChecks {
 public:
  explicit RendezvousChecks(std::uint32_t size) : size_(size) {}

  void put(std::string_view key, std::string_view value);
  void get(std::uint32_t rank, std::string_view key) const;

 private:
  std::uint32_t size_;
  std::set<std::string, std::less<>> keys_;
};

}  // namespace rdmabench::control
