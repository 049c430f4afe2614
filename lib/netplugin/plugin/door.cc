#include "door.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "rdmabench/control/fields.h"

namespace rdmabench::netplugin::plugin {
namespace {

// At once, of one listener. With more, the one that was silent for longest has to go: a peer
// greets as soon as it is connected.
constexpr std::size_t kMaxStrangers = 32;

}  // namespace

Door::Door(control::Listener& listener, std::string secret, std::chrono::milliseconds patience)
    : listener_(listener), secret_(std::move(secret)), patience_(patience) {
  readiness_.watch(listener_, 0);
}

std::optional<Door::Guest> Door::next(Deadline deadline) {
  for (;;) {
    const auto keys = readiness_.wait(deadline);
    // Greetings before newcomers: these may take the place of who has just spoken.
    for (const std::uint64_t key : keys) {
      if (key == 0) continue;
      if (auto guest = hear(key)) return guest;
    }
    strangers_.remove_if([](const Stranger& one) { return one.deadline.passed(); });
    if (std::find(keys.begin(), keys.end(), 0U) != keys.end()) accept();
    if (keys.empty() || deadline.passed()) return std::nullopt;
  }
}

void Door::accept() {
  std::optional<control::Channel> channel = listener_.accept(Deadline::after({}));
  if (!channel) return;
  if (strangers_.size() >= kMaxStrangers) strangers_.pop_front();
  strangers_.push_back({next_key_++, std::move(*channel), Deadline::after(patience_)});
  readiness_.watch(strangers_.back().channel, strangers_.back().key);
}

std::optional<Door::Guest> Door::hear(std::uint64_t key) {
  const auto found = std::find_if(strangers_.begin(), strangers_.end(),
                                  [&](const Stranger& one) { return one.key == key; });
  if (found == strangers_.end()) return std::nullopt;
  std::optional<Guest> guest;
  try {
    auto message = found->channel.receive_ready("greeting");
    if (!message) return std::nullopt;
    const auto hello = control::parse_object(message->payload, "greeting");
    if (message->type == control::MessageType::hello &&
        control::get_string(hello, "secret", 64) == secret_) {
      guest.emplace(Guest{std::move(found->channel), std::move(message->payload)});
    }
  } catch (const std::exception&) {
    // Whoever that was.
  }
  strangers_.erase(found);
  return guest;
}

}  // namespace rdmabench::netplugin::plugin
