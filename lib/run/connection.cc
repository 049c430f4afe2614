#include "connection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/listed.h"
#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/log.h"
#include "rdmabench/run/client.h"
#include "transport/own_options.h"

namespace rdmabench::inline v1::run {

namespace {

/// Whether the request has an option or a service of this back end alone.
bool names(const transport::EndpointRequest& request, const transport::BackendRow& row) {
  return row.has_own_option(request) || backend_of(request.options.service) == row.name;
}

const Offer* find_offer(const std::vector<Offer>& offers, std::string_view backend) {
  const auto found = std::find_if(offers.begin(), offers.end(),
                                  [&](const Offer& offer) { return offer.backend == backend; });
  return found == offers.end() ? nullptr : &*found;
}

struct Match {
  const Backend* backend = nullptr;
  std::vector<transport::Choice> choices;  ///< of each rail
};

/// Why the two sides cannot use one back end; "" if they can.
std::string obstacle(const Offer& own, const Offer* peer) {
  if (!own.error.empty()) return fmt::format("here: {}", own.error);
  if (peer == nullptr) return "the server has no such back end";
  if (!peer->error.empty()) {
    return fmt::format("at the server: {}", ascii_only(peer->error));
  }
  return "";
}

/// The first back end by which both sides can reach each other on every rail.
Match choose(const std::vector<const Backend*>& backends,
             const std::vector<transport::EndpointRequest>& rails,
             const std::vector<std::vector<Offer>>& ours, const std::vector<Offer>& theirs) {
  std::vector<std::string> reasons;
  for (const Backend* backend : backends) {
    Match match{backend, {}};
    std::string why;
    for (std::size_t rail = 0; rail < rails.size() && why.empty(); ++rail) {
      const Offer& own = *find_offer(ours[rail], backend->name);
      const Offer* const peer = find_offer(theirs, backend->name);
      why = obstacle(own, peer);
      if (!why.empty()) break;
      try {
        match.choices.push_back(backend->choose(rails[rail], own.text, peer->text));
      } catch (const Error& error) {
        if (error.fault() == Fault::usage) throw;
        why = ascii_only(error.what());  // it may quote the server's offer
      }
    }
    if (why.empty()) {
      log_line([&] {
        return fmt::format("chosen: {}: {}{}{}", backend->name, match.choices.front().reason,
                           reasons.empty() ? "" : "; passed over: ", fmt::join(reasons, "; "));
      });
      return match;
    }
    reasons.push_back(fmt::format("{}: {}", backend->name, why));
  }
  throw Error(Fault::unavailable,
              fmt::format("no back end reaches the server\n  {}", fmt::join(reasons, "\n  ")));
}

}  // namespace

void Connection::send(control::MessageType type, std::string_view payload) {
  channel_.send(type, payload, Deadline::after(timeout_));
}

std::vector<std::string> Connection::addresses() const {
  std::vector<std::string> addresses;
  for (const OpenEndpoint* const endpoint : endpoints_) addresses.push_back(endpoint->address());
  return addresses;
}

void Connection::connect(const std::vector<std::string>& peer_addresses) {
  if (peer_addresses.size() != endpoints_.size()) {
    throw Error(Fault::failed, fmt::format("{} sent {} addresses instead of {}", channel_.peer(),
                                           peer_addresses.size(), endpoints_.size()));
  }
  for (std::size_t i = 0; i < endpoints_.size(); ++i) endpoints_[i]->connect(peer_addresses[i]);
}

void Connection::throw_if_stopped() const {
  if (stop_.stop_requested()) throw Cancelled();
}

void Connection::leave(std::exception& error) {
  if (auto* const known = dynamic_cast<Error*>(&error)) known->set_peer(channel_.peer());
  channel_.abort(error.what());
}

void Connection::wait_readable(const Deadline& deadline, std::chrono::nanoseconds timeout,
                               std::string_view waiting_for) {
  // The answer mostly comes at once; but a server that waits for its client's next wish must not
  // burn a core.
  constexpr auto kSpin = std::chrono::milliseconds(1);
  constexpr auto kNap = std::chrono::milliseconds(1);
  constexpr auto kStopNap = std::chrono::milliseconds(50);  // where only a stop is to be noticed
  const Deadline spin = Deadline::after(kSpin);
  const bool polls = !endpoints_.empty() || stop_.stop_possible();
  while (polls && !deadline.passed()) {
    throw_if_stopped();
    const auto nap =
        endpoints_.empty()
            ? std::min(kStopNap, std::chrono::ceil<std::chrono::milliseconds>(deadline.left()))
        : spin.passed() ? kNap
                        : std::chrono::milliseconds(0);
    if (channel_.readable(nap)) return;
    for (OpenEndpoint* const endpoint : endpoints_) endpoint->progress();
  }
  if (!polls || channel_.readable(std::chrono::milliseconds(0))) return;
  throw Error(Fault::failed,
              fmt::format("nothing from {} within {} ms, waiting for its {}", channel_.peer(),
                          timeout / std::chrono::milliseconds(1), waiting_for),
              "It may have stopped; raise `timeout` if it is only slow.");
}

std::string Connection::receive(control::MessageType type, std::string_view waiting_for) {
  return channel_.expect(receive(waiting_for), type);
}

control::Message Connection::receive(std::string_view waiting_for) {
  return receive(waiting_for, timeout_);
}

control::Message Connection::receive(std::string_view waiting_for,
                                     std::chrono::nanoseconds timeout) {
  const Deadline deadline = Deadline::after(timeout);
  wait_readable(deadline, timeout, waiting_for);
  return take(deadline, waiting_for);
}

control::Message Connection::take(const Deadline& deadline, std::string_view waiting_for) {
  control::Message message = channel_.receive(deadline, waiting_for);
  peer_gave_up_ = peer_gave_up_ || message.type == SessionMessage::abort;
  return message;
}

void Connection::leave_together(std::string_view reason) {
  constexpr std::size_t kMostReason = 1000;
  send(SessionMessage::abort, reason.substr(0, kMostReason));
  const Deadline deadline = Deadline::after(timeout_);
  while (!peer_gave_up_) {  // messages that the peer sent before it knew are dropped
    take(deadline, "confirmation of the restart");
  }
  peer_gave_up_ = false;
  endpoints_.clear();
}

std::string lack_of(const Backend& backend, const transport::EndpointRequest& request) {
  if (backend.endpoint == nullptr) return "";
  const auto takes = [&](std::string_view option) {
    return std::ranges::find(backend.takes, option) != backend.takes.end();
  };
  const transport::EndpointOptions& options = request.options;
  if (options.service != transport::Service::automatic && !takes("service")) {
    return fmt::format("`service` {}", transport::name(options.service));
  }
  if (!request.device.empty() && !takes("devices")) return fmt::format("`devices`");
  if (options.queue_pairs > 1 && !backend.many_queue_pairs) {
    return fmt::format("`queue_pairs` {}", options.queue_pairs);
  }
  if (options.post_list > 1 && !backend.post_lists) {
    return fmt::format("`post_list` {}", options.post_list);
  }
  return transport::lack_of(request, backend.name, backend.takes).what;
}

transport::EndpointRequest without_lists(transport::EndpointRequest request) {
  request.options.post_list = 1;
  return request;
}

std::vector<const Backend*> candidates(std::string_view name,
                                       const transport::EndpointRequest& request) {
  if (name != "auto") {
    const Backend& backend = find_backend(name);
    const std::string lack = lack_of(backend, request);
    refuse_if(!lack.empty(), fmt::format("the back end '{}' has no {}", name, lack),
              "Leave it out, or use another `backend`.");
    transport::refuse_lack(name, transport::foreign_option(request, name), Fault::usage);
    return {&backend};
  }
  std::vector<std::string_view> owners;
  for (const transport::BackendRow& row : known_backends()) {
    if (names(request, row)) owners.push_back(row.name);
  }
  std::vector<std::string_view> options;
  for (const transport::OwnOption& one : transport::kOwnOptions) {
    if (const auto what = one.asked(request); !what.empty()) options.push_back(what);
  }
  refuse_if(owners.size() > 1,
            fmt::format("options of {} in one run ({})", fmt::join(owners, " and "),
                        fmt::join(options, " ")),
            "Leave out those of one of them.");
  std::vector<const Backend*> found;
  for (const Backend& backend : backends()) {
    const std::span<const transport::BackendRow> known = known_backends();
    const bool other = std::any_of(known.begin(), known.end(), [&](const auto& row) {
      return row.name != backend.name && names(request, row);
    });
    const bool asked = !backend.only_named || names(request, backend);
    if (backend.reaches_others && asked && !other) found.push_back(&backend);
  }
  return found;
}

Offer make_offer(const Backend& backend, const transport::EndpointRequest& request) {
  Offer offer{.backend = std::string(backend.name), .text = "", .error = ""};
  try {
    memory::check_available(memory::parse_request(request.memory));
    if (const std::string lack = lack_of(backend, request); !lack.empty()) {
      throw Error(Fault::unavailable, fmt::format("it has no {}", lack));
    }
    offer.text = backend.offer(request);
  } catch (const Error& error) {
    if (error.fault() == Fault::usage) throw;  // a device that does not exist is not "try another"
    offer.error = error.what();
  }
  return offer;
}

/// The devices that there are instead; nothing where the device is among them, or nobody can tell.
std::optional<std::vector<std::string>> other_devices(const std::vector<const Backend*>& backends,
                                                      const std::string& device) {
  std::vector<std::string> names;
  try {
    // It may be one of those that this process cannot open.
    for (const Backend& backend : run::backends()) {
      if (backend.hides_devices != nullptr && backend.hides_devices()) return std::nullopt;
    }
    for (const Backend* const backend : backends) {
      if (backend->devices == nullptr) continue;
      for (transport::DeviceInfo& one : backend->devices()) {
        // A port of it, or a domain.
        if (one.name == device || one.name.starts_with(device + ':') ||
            one.name.starts_with(device + '-')) {
          return std::nullopt;
        }
        if (std::ranges::find(names, one.name) == names.end()) names.push_back(std::move(one.name));
      }
    }
  } catch (const Error&) {
    return std::nullopt;  // what the back ends said of themselves tells more
  }
  return names;
}

[[noreturn]] void refuse_device(const std::string& device, const std::vector<std::string>& others) {
  constexpr std::size_t kMostNamed = 16;
  throw Error(
      Fault::unavailable, fmt::format("this machine has no device '{}'", device),
      others.empty() ? "It has none." : fmt::format("It has {}.", listed(others, kMostNamed)));
}

std::vector<std::vector<Offer>> make_offers(const std::vector<const Backend*>& backends,
                                            const std::vector<transport::EndpointRequest>& rails) {
  std::vector<std::vector<Offer>> ours;
  for (const transport::EndpointRequest& rail : rails) {
    std::vector<Offer>& offers = ours.emplace_back();
    std::string reasons;
    bool found = false;
    for (const Backend* backend : backends) {
      const Offer& offer = offers.emplace_back(make_offer(*backend, rail));
      found = found || offer.error.empty();
      reasons += fmt::format("\n  {}: {}", backend->name, offer.error);
    }
    if (found) continue;
    if (!rail.device.empty()) {
      const auto others = other_devices(backends, rail.device);
      if (others && !others->empty()) refuse_device(rail.device, *others);
    }
    throw Error(Fault::unavailable, "no back end of this side can be used" + reasons,
                "Do what the line of a back end says, or name another by `backend`.");
  }
  return ours;
}

ServerAnswer connect_client(Connection& connection, const std::vector<const Backend*>& backends,
                            const std::vector<transport::EndpointRequest>& rails,
                            const std::vector<std::vector<Offer>>& ours, std::size_t count,
                            const OpenOne& open, std::chrono::nanoseconds offer_timeout) {
  control::Message answer = connection.receive("offer", offer_timeout);
  // Behind the abort of a server that starts over.
  if (answer.type == SessionMessage::result) answer = connection.receive("offer", offer_timeout);
  if (answer.type == SessionMessage::request) {
    throw Error(Fault::usage, "both sides of this connection are its client",
                "Give one of them `client` = false.");
  }
  const std::vector<Offer> theirs = parse<std::vector<Offer>>(
      connection.channel().expect(std::move(answer), SessionMessage::offer));
  const Match match = choose(backends, rails, ours, theirs);
  Selection selection{std::string(match.backend->name), {}};
  for (const transport::Choice& choice : match.choices) selection.choices.push_back(choice.server);
  connection.send(SessionMessage::choice, to_text(selection));
  connection.receive(SessionMessage::ready, "admission");

  // While the server opens its own: ofi_rxm takes a tenth of a second for each queue pair.
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t rail = i % rails.size();
    transport::EndpointRequest request = rails[rail];
    request.worker = static_cast<std::uint32_t>(i);
    open(*match.backend, request, match.choices[rail].client);
  }
  // Opening may take longer than the deadline, which is then what to raise.
  const std::string awaited =
      fmt::format("address, which it sends after opening {} endpoints of {} queue pairs over {}",
                  count, rails.front().options.queue_pairs, match.backend->name);
  Introduction server = parse<Introduction>(connection.receive(SessionMessage::address, awaited));
  connection.send(SessionMessage::address, to_text(Introduction{connection.addresses(), {}}));
  connection.connect(server.addresses);
  const Readiness ready = parse<Readiness>(connection.receive(SessionMessage::ready, "readiness"));
  return {.reason = match.choices[0].reason,
          .environment = std::move(server.environment),
          .memory = server.memory,
          .writes = ready.writes};
}

bool serves(std::string_view name, const Backend& backend) {
  return name == "auto" || name == backend.name;
}

std::vector<Offer> answer_offers(const transport::EndpointRequest& request,
                                 const std::vector<Offer>& theirs, std::string_view served) {
  std::vector<Offer> ours;
  for (const Backend& backend : backends()) {
    const Offer* const their = find_offer(theirs, backend.name);
    if (their == nullptr || !their->error.empty() || !serves(served, backend)) continue;
    Offer offer = make_offer(backend, request);
    // Only who is in this process knows what it offers; nobody else is told, or served.
    if (!backend.reaches_others && their->text != offer.text) {
      offer.text.clear();
      offer.error = fmt::format("the {} back end cannot reach another process", backend.name);
    }
    ours.push_back(std::move(offer));
  }
  return ours;
}

void connect_server(Connection& connection, const transport::EndpointRequest& request,
                    const std::vector<Offer>& ours, std::size_t rails, std::size_t count,
                    const ServerSteps& steps) {
  connection.send(SessionMessage::offer, to_text(ours));
  const Selection selection =
      parse<Selection>(connection.receive(SessionMessage::choice, "choice"));
  if (selection.choices.size() != rails) {
    throw Error(Fault::failed, fmt::format("the client chose {} paths for {} rails",
                                           selection.choices.size(), rails));
  }
  const Offer* const offered = find_offer(ours, selection.backend);
  if (offered == nullptr || !offered->error.empty()) {
    throw Error(Fault::failed,
                fmt::format("the client chose the back end '{}', which was not offered",
                            ascii_only(selection.backend)));
  }
  const Backend& backend = find_backend(selection.backend);
  if (steps.admit) steps.admit(backend, selection.choices);
  connection.send(SessionMessage::ready);
  transport::EndpointRequest own_request = request;
  for (std::size_t i = 0; i < count; ++i) {
    own_request.worker = static_cast<std::uint32_t>(i);
    steps.open(backend, own_request, selection.choices[i % selection.choices.size()]);
  }
  Introduction own = steps.introduce();
  own.addresses = connection.addresses();
  connection.send(SessionMessage::address, to_text(own));
  const Introduction client =
      parse<Introduction>(connection.receive(SessionMessage::address, "address"));
  connection.connect(client.addresses);
}

void check_device(const std::string& device) {
  if (device.empty()) return;
  std::vector<const Backend*> all;
  for (const Backend& backend : backends()) all.push_back(&backend);
  if (const auto others = other_devices(all, device)) refuse_device(device, *others);
}

}  // namespace rdmabench::inline v1::run
