#include <algorithm>
#include <cstring>

#include "comm.h"

namespace rdmabench::netplugin::plugin {
namespace {

constexpr std::int32_t kFarewell = -1;
constexpr std::int32_t kFree = -2;

}  // namespace

Sender::Sender(Link link) : Comm(std::move(link)) {
  for (Slots& of_lane : slots_) {
    of_lane.owner.assign(link_.slots, kFree);
    for (std::uint32_t i = 0; i < link_.slots; ++i) of_lane.free.push_back(i);
  }
  for (std::uint32_t i = 0; i < kMaxSends; ++i) sends_[i].request = {this, i};
}

abi::Result Sender::send(const void* data, std::size_t bytes, int tag, void** request) noexcept {
  *request = nullptr;
  if (!progress()) return abi::kSystemError;
  Announced& group = announced_[first_group_ % kMaxGroups];
  if (!present_[first_group_ % kMaxGroups]) {
    return heard_farewell_ ? abi::kRemoteError : abi::kSuccess;
  }
  std::uint32_t member = 0;
  while (member < group.count && (group.used[member] || group.buffers[member].tag != tag)) ++member;
  if (member == group.count) return abi::kSuccess;
  const auto free =
      std::find_if(sends_.begin(), sends_.end(), [](const Send& s) { return !s.used; });
  if (free == sends_.end()) return abi::kSuccess;
  if (bytes > group.buffers[member].bytes) {
    const Piece refusal{Kind::refusal, group.id, member, Lane::small, 0, 0, bytes, 0, 0};
    if (!post_piece(refusal, nullptr)) return failed_ ? abi::kSystemError : abi::kSuccess;
  }
  group.used[member] = true;
  if (++group.taken == group.count) {
    present_[first_group_ % kMaxGroups] = false;
    ++first_group_;
  }
  if (bytes > group.buffers[member].bytes) return abi::kInvalidUsage;
  free->used = true;
  free->data = static_cast<const std::byte*>(data);
  free->bytes = bytes;
  free->posted = 0;
  free->all_posted = false;
  free->unconfirmed = 0;
  free->group = group.id;
  free->member = member;
  queue_.push_back(free->request.index);
  push();
  *request = &free->request;
  return failed_ ? abi::kSystemError : abi::kSuccess;
}

abi::Result Sender::test(const Request& request, int* done, int* bytes) noexcept {
  *done = 0;
  Send& send = sends_[request.index];
  if (!send.used) return abi::kInternalError;
  progress();
  if (send.all_posted && send.unconfirmed == 0) {
    *done = 1;
    if (bytes != nullptr) *bytes = static_cast<int>(send.bytes);
    send.used = false;
    return abi::kSuccess;
  }
  if (failed_) return abi::kSystemError;
  return heard_farewell_ && pieces_ >= peer_pieces_ ? abi::kRemoteError : abi::kSuccess;
}

void Sender::push() noexcept {
  if (closing_) return;
  while (!queue_.empty() && push_one(sends_[queue_.front()])) queue_.pop_front();
}

/// True when all of it is posted.
bool Sender::push_one(Send& send) noexcept {
  constexpr std::uint64_t kSmall = kShortSlot - sizeof(Piece);
  const std::uint64_t large = link_.chunk - sizeof(Piece);
  do {
    const std::uint64_t left = send.bytes - send.posted;
    const Lane lane = left <= kSmall ? Lane::small : Lane::large;
    const auto bytes =
        static_cast<std::uint32_t>(std::min(left, lane == Lane::small ? kSmall : large));
    const Piece piece{Kind::piece, send.group, send.member, lane, 0,
                      send.posted, send.bytes, bytes,       0};
    if (!post_piece(piece, send.data + send.posted)) return false;
    slots(lane).owner[slots(lane).free.back()] = static_cast<std::int32_t>(send.request.index);
    slots(lane).free.pop_back();
    ++send.unconfirmed;
    send.posted += bytes;
  } while (send.posted < send.bytes);
  send.all_posted = true;
  return true;
}

/// Of a piece the slot is the caller's to take off the free ones; a refusal needs it no longer than
/// until it is confirmed either.
bool Sender::post_piece(const Piece& piece, const std::byte* data) noexcept {
  Slots& of_lane = slots(piece.lane);
  if (of_lane.free.empty()) return false;
  const std::uint32_t slot = of_lane.free.back();
  std::byte* const to = carrier(piece.lane).slot(slot);
  Piece header = piece;
  header.slot = static_cast<std::uint16_t>(slot);
  std::memcpy(to, &header, sizeof header);
  if (piece.bytes > 0) std::memcpy(to + sizeof header, data, piece.bytes);
  if (!post(piece.lane, slot)) return false;
  if (piece.kind == Kind::refusal) {
    of_lane.owner[slot] = kFarewell;
    of_lane.free.pop_back();
  }
  return true;
}

bool Sender::say_farewell() noexcept {
  Slots& small = slots(Lane::small);
  if (small.free.empty()) return false;
  std::uint64_t posted = pieces_;
  for (const Slots& of_lane : slots_) posted += link_.slots - of_lane.free.size();
  const Farewell farewell{Kind::farewell, 0, posted};
  std::memcpy(link_.small->slot(small.free.back()), &farewell, sizeof farewell);
  if (!post(Lane::small, small.free.back())) return false;
  small.owner[small.free.back()] = kFarewell;
  small.free.pop_back();
  return true;
}

/// From the peer: nothing in it is believed.
void Sender::arrived(const std::byte* slot, std::uint64_t /*bytes*/) noexcept {
  Kind kind{};
  std::memcpy(&kind, slot, sizeof kind);
  if (kind == Kind::group) {
    Group group{};
    std::memcpy(&group, slot, sizeof group);
    announce(group);
  } else if (kind == Kind::confirmation) {
    Confirmation confirmation{};
    std::memcpy(&confirmation, slot, sizeof confirmation);
    confirm(confirmation);
  } else if (kind == Kind::farewell) {
    Farewell farewell{};
    std::memcpy(&farewell, slot, sizeof farewell);
    peer_pieces_ = farewell.pieces;
    heard_farewell_ = true;
  } else {
    fail("the peer sent what is no notice");
  }
}

void Sender::announce(const Group& group) noexcept {
  const std::uint32_t place = group.group % kMaxGroups;
  if (group.count == 0 || group.count > kMaxGroup || present_[place] ||
      group.group - first_group_ >= kMaxGroups) {
    fail("the peer announced a group of receives that cannot be");
    return;
  }
  Announced& to = announced_[place];
  to.id = group.group;
  to.count = group.count;
  to.taken = 0;
  to.used.fill(false);
  std::copy(std::begin(group.buffers), std::end(group.buffers), to.buffers.begin());
  present_[place] = true;
}

void Sender::confirm(const Confirmation& confirmation) noexcept {
  if (confirmation.count > kMaxConfirmed) return fail("the peer confirmed more than there is");
  for (std::uint32_t i = 0; i < confirmation.count; ++i) {
    const auto& [lane, slot] = confirmation.pieces[i];
    if (lane > Lane::large || slot >= link_.slots || slots(lane).owner[slot] == kFree) {
      return fail("the peer confirmed what was not sent");
    }
    std::int32_t& owner = slots(lane).owner[slot];
    if (owner >= 0) --sends_[static_cast<std::size_t>(owner)].unconfirmed;
    owner = kFree;
    slots(lane).free.push_back(slot);
    ++pieces_;
  }
}

}  // namespace rdmabench::netplugin::plugin
