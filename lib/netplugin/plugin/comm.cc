#include "comm.h"

#include <algorithm>

namespace rdmabench::netplugin::plugin {

using transport::PostStatus;

void Comm::fail(const std::string& why) noexcept {
  if (failed_) return;
  failed_ = true;
  try {
    trouble_ = why;
  } catch (...) {  // the text alone is lost
  }
}

bool Comm::post(Lane lane, std::uint32_t slot) noexcept {
  const PostStatus status = carrier(lane).post(slot);
  if (status == PostStatus::failed) fail(carrier(lane).failure());
  return status == PostStatus::posted;
}

bool Comm::progress() noexcept {
  // Some system call now and then, so that a peer that was killed is missed.
  constexpr std::uint32_t kLookEvery = 4096;
  if (failed_) return false;
  for (Carrier* const one : {link_.small.get(), link_.large.get()}) {
    if (!one->poll(*this)) fail(one->failure());
  }
  if (!failed_) push();
  if (++vain_ % kLookEvery == 0 && !heard_farewell_ && link_.channel.interrupted()) {
    fail("the peer has left");
  }
  return !failed_;
}

bool Comm::linger() noexcept {
  if (!progress()) return true;
  if (!said_farewell_ && !owes()) said_farewell_ = say_farewell();
  const bool idle = link_.small->idle() && link_.large->idle();
  return (said_farewell_ && heard_farewell_ && idle) || link_.channel.interrupted();
}

}  // namespace rdmabench::netplugin::plugin
