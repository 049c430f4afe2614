#include "neighbours.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "base/shared_memory_files.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

struct Neighbour {
  const void* key;
  std::vector<std::string> names;
  std::vector<std::string> peers{};
  std::optional<OpenObjects> left{};  ///< it has gone, and a peer has not
};

/// Never destroyed: a thread that outlives main() may still close its endpoint.
struct Neighbours {
  std::mutex mutex;
  std::list<Neighbour> all;

  static Neighbours& get() {
    static auto& only = *new Neighbours;
    return only;
  }

  auto find(const void* key) {
    return std::find_if(all.begin(), all.end(),
                        [&](const Neighbour& one) { return one.key == key && !one.left; });
  }

  bool is_here(const std::string& name) const {
    return std::any_of(all.begin(), all.end(), [&](const Neighbour& one) {
      return !one.left && std::find(one.names.begin(), one.names.end(), name) != one.names.end();
    });
  }
};

/// Whether one has the other as a peer: what it sent makes the other one map it, too.
bool knows(const Neighbour& one, const Neighbour& other) {
  return std::find_first_of(one.peers.begin(), one.peers.end(), other.names.begin(),
                            other.names.end()) != one.peers.end();
}

}  // namespace

void enter_neighbours(const void* key, std::vector<std::string> names) {
  Neighbours& neighbours = Neighbours::get();
  const std::lock_guard lock(neighbours.mutex);
  neighbours.all.push_back({key, std::move(names)});
}

void meet_neighbours(const void* key, const std::vector<std::string>& peers) {
  Neighbours& neighbours = Neighbours::get();
  const std::lock_guard lock(neighbours.mutex);
  for (const std::string& peer : peers) {
    if (is_of_this_process(peer) && !neighbours.is_here(peer)) {
      throw Error(Fault::failed, "the peer's endpoint, which was in this process, is closed",
                  "See what the other side says.");
    }
  }
  neighbours.find(key)->peers = peers;
}

void leave_neighbours(const void* key, OpenObjects&& open) noexcept {
  std::list<Neighbour> closed;  // after the lock is released
  Neighbours& neighbours = Neighbours::get();
  const std::lock_guard lock(neighbours.mutex);
  neighbours.find(key)->left.emplace(std::move(open));
  for (auto next = neighbours.all.begin(); next != neighbours.all.end();) {
    const auto one = next++;
    const auto uses = [&](const Neighbour& other) {
      return !other.left && (knows(other, *one) || knows(*one, other));
    };
    if (one->left && std::none_of(neighbours.all.begin(), neighbours.all.end(), uses)) {
      closed.splice(closed.end(), neighbours.all, one);
    }
  }
}

}  // namespace rdmabench::inline v1::transport::ofi
