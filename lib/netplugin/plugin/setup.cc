#include "setup.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "door.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/fields.h"
#include "rdmabench/control/printable.h"

namespace rdmabench::netplugin::plugin {
namespace {

using control::MessageType;
using Json = nlohmann::json;

constexpr std::uint64_t kRevision = 1;  // of this file's messages and of wire.h
constexpr std::size_t kMaxOffer = 262144;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string secret_text(const Handle& handle) {
  return fmt::format("{:016x}{:016x}", handle.secret[0], handle.secret[1]);
}

/// This host's addresses, those first that another host is most likely to reach.
void add_addresses(Handle& handle, const std::string& only) {
  struct Found {
    int rank;
    Handle::Address address;
  };
  std::vector<Found> all;
  const auto add = [&](const sockaddr* from, bool loopback) {
    Handle::Address address{};
    int rank = loopback ? 3 : 0;
    if (from->sa_family == AF_INET) {
      address.bytes[10] = address.bytes[11] = 0xff;
      std::memcpy(address.bytes + 12, &reinterpret_cast<const sockaddr_in*>(from)->sin_addr, 4);
    } else {
      const auto* const six = reinterpret_cast<const sockaddr_in6*>(from);
      std::memcpy(address.bytes, &six->sin6_addr, 16);
      address.scope = six->sin6_scope_id;
      rank += IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) ? 2 : 1;
    }
    all.push_back({rank, address});
  };
  if (!only.empty()) {
    sockaddr_storage room{};
    auto* const any = reinterpret_cast<sockaddr*>(&room);
    if (inet_pton(AF_INET, only.c_str(), &reinterpret_cast<sockaddr_in*>(any)->sin_addr) == 1) {
      any->sa_family = AF_INET;
      add(any, false);
    } else if (inet_pton(AF_INET6, only.c_str(),
                         &reinterpret_cast<sockaddr_in6*>(any)->sin6_addr) == 1) {
      any->sa_family = AF_INET6;
      add(any, false);
    } else {
      throw Error(Fault::usage, fmt::format("RDMABENCH_NET_IP={}", only),
                  "It is a numeric address.");
    }
  } else {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) throw Error(Fault::failed, "getifaddrs", "", errno);
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
      const int family = one->ifa_addr->sa_family;
      if (family != AF_INET && family != AF_INET6) continue;
      add(one->ifa_addr, (one->ifa_flags & IFF_LOOPBACK) != 0);
    }
    freeifaddrs(list);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Found& a, const Found& b) { return a.rank < b.rank; });
  for (const Found& one : all) {
    if (handle.addresses == std::size(handle.address)) break;
    handle.address[handle.addresses++] = one.address;
  }
}

std::string text_of(const Handle::Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  in6_addr six{};
  std::memcpy(&six, address.bytes, sizeof six);
  if (IN6_IS_ADDR_V4MAPPED(&six)) {
    inet_ntop(AF_INET, address.bytes + 12, text, sizeof text);
    return text;
  }
  inet_ntop(AF_INET6, &six, text, sizeof text);
  char interface[IF_NAMESIZE] = "";
  const bool scoped = address.scope != 0 && if_indextoname(address.scope, interface) != nullptr;
  return scoped ? fmt::format("{}%{}", text, interface) : text;
}

/// The TCP connection to whichever of the handle's addresses answers.
control::Channel reach(const Handle& handle, const Deadline& deadline) {
  std::string why;
  for (std::uint32_t i = 0; i < handle.addresses; ++i) {
    const auto share = deadline.left() / static_cast<int>(handle.addresses - i);
    try {
      return control::Channel::connect(text_of(handle.address[i]), handle.port,
                                       Deadline::after(share));
    } catch (const Error& error) {
      why += fmt::format("{}{}", why.empty() ? "" : "; ", error.what());
    }
  }
  throw Error(Fault::failed, fmt::format("the listener cannot be reached: {}", why),
              "Set RDMABENCH_NET_IP on the listening side to the address to be reached by.");
}

/// The part of both sides: they open for the same slots.
struct Setting {
  std::uint32_t chunk;
  std::uint32_t slots;
};

transport::EndpointRequest base_request(const Settings& settings, const Device& device,
                                        const control::Channel& channel, std::uint32_t bytes,
                                        std::uint32_t slots, bool client) {
  transport::EndpointRequest request = request_of(bytes, slots, client);
  request.device = device.name;
  request.provider = settings.provider;
  request.gid_index = device.backend == "verbs" ? settings.gid_index : -1;
  request.timeout_ms = static_cast<std::uint32_t>(settings.timeout.count());
  request.local_ip = channel.local_ip();
  request.peer_ip = channel.peer_ip();
  return request;
}

struct Carriers {
  std::unique_ptr<Carrier> small;
  std::unique_ptr<Carrier> large;
};

Carriers open_carriers(const Settings& settings, const Device& device,
                       const control::Channel& channel, Setting setting, bool client,
                       std::string_view choice) {
  const BackendCalls& backend = find_backend(device.backend);
  const auto open = [&](std::uint32_t bytes) {
    return backend.open(base_request(settings, device, channel, bytes, setting.slots, client),
                        choice);
  };
  return {open(kShortSlot), open(setting.chunk)};
}

std::string addresses_text(const Carriers& carriers) {
  return dump({{"small", carriers.small->address()}, {"large", carriers.large->address()}});
}

void connect_carriers(Carriers& carriers, const std::string& text) {
  const Json json = control::parse_object(text, "addresses");
  carriers.small->connect(control::get_string(json, "small", kMaxOffer));
  carriers.large->connect(control::get_string(json, "large", kMaxOffer));
}

/// The back ends' own statics are there once a connection was made, and so outlive this one: no
/// thread that polls or ends a connection may see them gone.
struct ProcessEnd {
  ~ProcessEnd() { background().end(); }
};

Link make_link(control::Channel channel, Carriers carriers, Setting setting) {
  static const ProcessEnd kEnd;
  return {std::move(channel), std::move(carriers.small), std::move(carriers.large), setting.slots,
          setting.chunk};
}

/// The sender's half. It decides; the listener's side checks.
std::unique_ptr<Sender> connect_now(const Settings& settings, const Device& device,
                                    const Handle& handle) {
  const Deadline deadline = Deadline::after(settings.timeout);
  control::Channel channel = reach(handle, deadline);
  const Setting setting{settings.chunk, settings.slots};
  const BackendCalls& backend = find_backend(device.backend);
  const transport::EndpointRequest request =
      base_request(settings, device, channel, setting.chunk, setting.slots, true);
  channel.send(MessageType::hello,
               dump({{"revision", kRevision},
                     {"secret", secret_text(handle)},
                     {"backend", device.backend},
                     {"chunk", setting.chunk},
                     {"slots", setting.slots}}),
               deadline);
  const std::string own = backend.offer(request);
  const std::string theirs = channel.receive(MessageType::offer, deadline, "offer");
  const transport::Choice choice = backend.choose(request, own, theirs);
  channel.send(MessageType::choice, choice.server, deadline);
  Carriers carriers = open_carriers(settings, device, channel, setting, true, choice.client);
  const std::string peer = channel.receive(MessageType::address, deadline, "addresses");
  channel.send(MessageType::address, addresses_text(carriers), deadline);
  connect_carriers(carriers, peer);
  channel.receive(MessageType::ready, deadline, "readiness");
  channel.send(MessageType::ready, "", deadline);
  return std::make_unique<Sender>(make_link(std::move(channel), std::move(carriers), setting));
}

/// The listener's half.
std::unique_ptr<Receiver> accept_now(const Settings& settings, const Device& device,
                                     Door::Guest guest) {
  const Deadline deadline = Deadline::after(settings.timeout);
  control::Channel& channel = guest.channel;
  try {
    const Json hello = control::parse_object(guest.hello, "greeting");
    const Setting setting{control::get_uint<std::uint32_t>(hello, "chunk", kMinChunk, kMaxChunk),
                          control::get_uint<std::uint32_t>(hello, "slots", kMinSlots, kMaxSlots)};
    const std::string theirs = control::printable(control::get_string(hello, "backend", 16));
    if (theirs != device.backend || control::get_uint(hello, "revision", 0, 1000) != kRevision) {
      throw Error(Fault::failed,
                  fmt::format("the other side uses {} and this side {}", theirs, device.backend),
                  "Set RDMABENCH_NET_BACKEND alike on both sides, and use the same release.");
    }
    const BackendCalls& backend = find_backend(device.backend);
    const transport::EndpointRequest request =
        base_request(settings, device, channel, setting.chunk, setting.slots, false);
    channel.send(MessageType::offer, backend.offer(request), deadline);
    const std::string choice = channel.receive(MessageType::choice, deadline, "choice");
    Carriers carriers = open_carriers(settings, device, channel, setting, false, choice);
    channel.send(MessageType::address, addresses_text(carriers), deadline);
    connect_carriers(carriers, channel.receive(MessageType::address, deadline, "addresses"));
    channel.send(MessageType::ready, "", deadline);
    channel.receive(MessageType::ready, deadline, "readiness");
    return std::make_unique<Receiver>(make_link(std::move(channel), std::move(carriers), setting));
  } catch (const Error& error) {
    channel.abort(error.what());
    throw;
  }
}

}  // namespace

struct Listening::Shared {
  Shared(const Settings& with, const Device& on, const std::string& secret)
      : settings(with), device(on), listener(with.ip, 0), door(listener, secret, with.timeout) {}

  void accept_all() {
    while (!listener.stopped() && !background().ending()) {
      try {
        auto guest = door.next(Deadline::after(std::chrono::milliseconds(200)));
        if (!guest) continue;
        auto receiver = accept_now(settings, device, std::move(*guest));
        const std::lock_guard lock(mutex);
        ready.push_back(std::move(receiver));
      } catch (...) {
        {
          const std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
  }

  Settings settings;
  Device device;
  control::Listener listener;
  Door door;
  std::mutex mutex;
  std::deque<std::unique_ptr<Receiver>> ready;
  std::exception_ptr failure;
};

Listening::Listening(const Settings& settings, const Device& device, Handle& handle) {
  handle = {};
  if (getrandom(handle.secret, sizeof handle.secret, 0) != sizeof handle.secret) {
    throw Error(Fault::failed, "getrandom", "", errno);
  }
  shared_ = std::make_shared<Shared>(settings, device, secret_text(handle));
  handle.port = shared_->listener.port();
  add_addresses(handle, settings.ip);
  background().start([shared = shared_] { shared->accept_all(); });
}

Listening::~Listening() {
  shared_->listener.stop();
  shared_->door.wake();
}

std::unique_ptr<Receiver> Listening::take() {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->ready.empty()) {
    auto first = std::move(shared_->ready.front());
    shared_->ready.pop_front();
    return first;
  }
  if (shared_->failure) std::rethrow_exception(std::exchange(shared_->failure, nullptr));
  return nullptr;
}

Connecting::Connecting(const Settings& settings, const Device& device, const Handle& handle)
    : promise_(std::make_shared<std::promise<std::unique_ptr<Sender>>>()),
      result_(promise_->get_future()) {
  background().start([promise = promise_, settings, device, handle] {
    try {
      promise->set_value(connect_now(settings, device, handle));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  });
}

std::unique_ptr<Sender> Connecting::take() {
  if (result_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return nullptr;
  return result_.get();
}

Background& background() {
  static Background only;
  return only;
}

void Background::end() {
  ending_ = true;
  std::list<Worker> rest;
  {
    const std::lock_guard lock(mutex_);
    rest.swap(workers_);
  }
  for (Worker& worker : rest) worker.thread.join();
}

void Background::start(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  workers_.remove_if([](Worker& worker) {
    if (!*worker.done) return false;
    worker.thread.join();
    return true;
  });
  auto done = std::make_shared<std::atomic<bool>>(false);
  workers_.push_back({std::thread([work = std::move(work), done] {
                        work();
                        *done = true;
                      }),
                      done});
}

void Background::bury(std::unique_ptr<Comm> comm, std::chrono::milliseconds linger) {
  comm->close();
  bool start_one = false;
  {
    const std::lock_guard lock(mutex_);
    closing_.push_back({std::move(comm), Deadline::after(linger)});
    start_one = !std::exchange(lingering_, true);
  }
  if (start_one) start([this] { linger_all(); });
}

void Background::linger_all() {
  std::vector<Closing> mine;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      for (Closing& one : closing_) mine.push_back(std::move(one));
      closing_.clear();
      if (mine.empty()) {
        lingering_ = false;
        return;
      }
    }
    mine.erase(
        std::remove_if(mine.begin(), mine.end(),
                       [](Closing& one) { return one.comm->linger() || one.deadline.passed(); }),
        mine.end());
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace rdmabench::netplugin::plugin
