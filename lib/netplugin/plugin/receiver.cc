#include <algorithm>
#include <cstring>

#include "comm.h"

namespace rdmabench::netplugin::plugin {

Receiver::Receiver(Link link) : Comm(std::move(link)) {
  confirmations_.reserve(std::size_t{2} * link_.slots + kMaxConfirmed);
  for (std::uint32_t i = 0; i < kMaxGroups; ++i) receives_[i].request = {this, i};
}

abi::Result Receiver::receive(int count, void** data, const std::size_t* bytes, const int* tags,
                              void** request) noexcept {
  *request = nullptr;
  if (count < 1 || count > static_cast<int>(kMaxGroup)) return abi::kInternalError;
  if (!progress()) return abi::kSystemError;
  if (heard_farewell_) return abi::kRemoteError;
  Receive& group = receives_[next_group_ % kMaxGroups];
  if (group.used) return abi::kSuccess;
  group.used = true;
  group.id = next_group_++;
  group.count = static_cast<std::uint32_t>(count);
  for (std::uint32_t i = 0; i < group.count; ++i) {
    group.tags[i] = tags[i];
    group.targets[i] = {static_cast<std::byte*>(data[i]), bytes[i], 0, 0, false, false};
  }
  push();
  *request = &group.request;
  return failed_ ? abi::kSystemError : abi::kSuccess;
}

abi::Result Receiver::test(const Request& request, int* done, int* bytes) noexcept {
  *done = 0;
  Receive& group = receives_[request.index];
  if (!group.used) return abi::kInternalError;
  progress();
  const auto end = group.targets.begin() + group.count;
  if (!std::all_of(group.targets.begin(), end, [](const Target& t) { return t.complete(); })) {
    if (failed_) return abi::kSystemError;
    return heard_farewell_ && pieces_ >= peer_pieces_ ? abi::kRemoteError : abi::kSuccess;
  }
  // Nobody need test again: what the sender waits for has to be on its way.
  if (!failed_ && owes()) return abi::kSuccess;
  if (!failed_ && link_.small->needs_progress() && !link_.small->idle()) return abi::kSuccess;
  group.used = false;
  if (std::any_of(group.targets.begin(), end, [](const Target& t) { return t.refused; })) {
    return abi::kInvalidUsage;
  }
  *done = 1;
  for (std::uint32_t i = 0; bytes != nullptr && i < group.count; ++i) {
    bytes[i] = static_cast<int>(group.targets[i].total);
  }
  return abi::kSuccess;
}

std::byte* Receiver::room() noexcept {
  if (next_slot_ == link_.slots && link_.small->idle()) next_slot_ = 0;
  return next_slot_ < link_.slots ? link_.small->slot(next_slot_) : nullptr;
}

void Receiver::push() noexcept {
  while (!confirmations_.empty()) {
    std::byte* const to = room();
    if (to == nullptr) return;
    Confirmation confirmation{};
    confirmation.kind = Kind::confirmation;
    confirmation.count =
        static_cast<std::uint32_t>(std::min<std::size_t>(confirmations_.size(), kMaxConfirmed));
    for (std::uint32_t i = 0; i < confirmation.count; ++i) {
      confirmation.pieces[i] = {confirmations_[i].lane, confirmations_[i].slot};
    }
    std::memcpy(to, &confirmation, sizeof confirmation);
    if (!post(Lane::small, next_slot_)) return;
    ++next_slot_;
    confirmations_.erase(confirmations_.begin(), confirmations_.begin() + confirmation.count);
  }
  while (!closing_ && next_announced_ != next_group_) {
    std::byte* const to = room();
    if (to == nullptr) return;
    const Receive& receive = receives_[next_announced_ % kMaxGroups];
    Group group{Kind::group, receive.id, receive.count, 0, {}};
    for (std::uint32_t i = 0; i < receive.count; ++i) {
      group.buffers[i] = {receive.tags[i], 0, receive.targets[i].room};
    }
    std::memcpy(to, &group, sizeof group);
    if (!post(Lane::small, next_slot_)) return;
    ++next_slot_;
    ++next_announced_;
  }
}

bool Receiver::say_farewell() noexcept {
  std::byte* const to = room();
  if (to == nullptr) return false;
  const Farewell farewell{Kind::farewell, 0, pieces_};
  std::memcpy(to, &farewell, sizeof farewell);
  if (!post(Lane::small, next_slot_)) return false;
  ++next_slot_;
  return true;
}

/// From the peer: nothing in it is believed.
void Receiver::arrived(const std::byte* slot, std::uint64_t bytes) noexcept {
  Kind kind{};
  std::memcpy(&kind, slot, sizeof kind);
  if (kind == Kind::farewell) {
    Farewell farewell{};
    std::memcpy(&farewell, slot, sizeof farewell);
    peer_pieces_ = farewell.pieces;
    heard_farewell_ = true;
    return;
  }
  if (kind != Kind::piece && kind != Kind::refusal) return fail("the peer sent what is no message");
  Piece piece{};
  std::memcpy(&piece, slot, sizeof piece);
  take(piece, slot + sizeof piece, bytes - sizeof piece);
}

void Receiver::take(const Piece& piece, const std::byte* data, std::uint64_t most) noexcept {
  ++pieces_;
  if (confirmations_.size() == confirmations_.capacity()) return fail("the peer sent too much");
  confirmations_.push_back({piece.lane, piece.slot});
  if (closing_) return;  // the buffers are the caller's again
  Receive& group = receives_[piece.group % kMaxGroups];
  if (piece.lane > Lane::large || !group.used || group.id != piece.group ||
      piece.member >= group.count || piece.bytes > most) {
    return fail("the peer sent a piece of a message for which there is no receive");
  }
  Target& target = group.targets[piece.member];
  if (piece.kind == Kind::refusal) {
    target.refused = true;
    return;
  }
  if (piece.total > target.room || (target.begun && piece.total != target.total) ||
      piece.offset > piece.total || piece.bytes > piece.total - piece.offset ||
      piece.bytes > piece.total - target.received || (target.begun && target.complete())) {
    return fail("the peer sent a piece that is not of its message");
  }
  if (piece.bytes > 0) std::memcpy(target.data + piece.offset, data, piece.bytes);
  target.begun = true;
  target.total = piece.total;
  target.received += piece.bytes;
}

}  // namespace rdmabench::netplugin::plugin
