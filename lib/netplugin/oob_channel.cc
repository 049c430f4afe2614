#include "oob_channel.h"

namespace rdmabench::inline v1::netplugin {

ThreadChannels::ThreadChannels() {
  for (int i = 0; i < 2; ++i) {
    ends_[i].all = this;
    ends_[i].own = i;
  }
}

void ThreadChannels::ended(bool sender) {
  const std::lock_guard lock(mutex_);
  inbox_[sender ? 0 : 1].closed = true;
  changed_.notify_all();
}

void ThreadChannels::End::send(std::string_view text) {
  const std::lock_guard lock(all->mutex_);
  all->inbox_[1 - own].messages.emplace_back(text);
  all->changed_.notify_all();
}

std::string ThreadChannels::End::receive(const Deadline& deadline) {
  std::unique_lock lock(all->mutex_);
  Mailbox& inbox = all->inbox_[own];
  const bool there = all->changed_.wait_for(
      lock, deadline.left(), [&] { return !inbox.messages.empty() || inbox.closed; });
  if (!there) throw PeerSilent{};
  if (inbox.messages.empty()) throw PeerEnded{};
  std::string text = std::move(inbox.messages.front());
  inbox.messages.pop_front();
  return text;
}

bool ThreadChannels::End::peer_ended() {
  const std::lock_guard lock(all->mutex_);
  return all->inbox_[own].closed;
}

void RelayChannel::send(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!pipe_.send(FrameKind::message, text)) throw PeerEnded{};
}

void RelayChannel::take(std::chrono::milliseconds wait) {
  bool closed = false;
  if (auto frame = pipe_.receive(wait, closed)) {
    if (frame->kind == FrameKind::message) messages_.push_back(std::move(frame->text));
    if (frame->kind == FrameKind::ended) ended_ = true;
  }
  ended_ = ended_ || closed;
}

std::string RelayChannel::receive(const Deadline& deadline) {
  const std::lock_guard lock(mutex_);
  while (messages_.empty()) {
    if (ended_) throw PeerEnded{};
    if (deadline.passed()) throw PeerSilent{};
    take(std::chrono::milliseconds(20));
  }
  std::string text = std::move(messages_.front());
  messages_.pop_front();
  return text;
}

bool RelayChannel::peer_ended() {
  const std::lock_guard lock(mutex_);
  if (!ended_) take(std::chrono::milliseconds(0));
  return ended_;
}

}  // namespace rdmabench::inline v1::netplugin
