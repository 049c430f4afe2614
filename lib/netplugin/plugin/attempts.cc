#include "attempts.h"

#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

#include "rdmabench/base/error.h"

namespace rdmabench::netplugin::plugin {
namespace {

/// What listen() wrote, which is all but `pending`.
bool same(const Handle& a, const Handle& b) {
  return std::memcmp(&a, &b, offsetof(Handle, pending)) == 0;
}

}  // namespace

std::unique_ptr<Sender> Attempts::connect(const Settings& settings, const Device& device,
                                          Handle& handle) {
  if (handle.mark != Handle::kMark || handle.addresses == 0 ||
      handle.addresses > std::size(handle.address)) {
    throw Error(Fault::usage, "the handle is none of this plugin's",
                "Load the same plugin on both sides.");
  }
  const std::lock_guard lock(mutex_);
  if (handle.pending == 0) {
    auto connecting = std::make_unique<Connecting>(settings, device, handle);
    attempts_.insert_or_assign(++last_, Attempt{handle, std::move(connecting)});
    handle.pending = last_;
  }
  const auto found = attempts_.find(handle.pending);
  if (found == attempts_.end() || !same(found->second.handle, handle)) {
    throw Error(Fault::usage, "the handle is damaged, or of a connect() that is over",
                "Pass it on as listen() made it.");
  }
  const auto forget = [&] {
    attempts_.erase(found);
    handle.pending = 0;
  };
  try {
    auto sender = found->second.connecting->take();
    if (sender) forget();
    return sender;
  } catch (...) {
    forget();
    throw;
  }
}

}  // namespace rdmabench::netplugin::plugin
