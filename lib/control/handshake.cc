#include "handshake.h"

#include <fmt/format.h>

#include "connection.h"
#include "munge.h"
#include "tcp.h"
#include "token_file.h"

namespace rdmabench::inline v1::control {
namespace {

using Method = Authentication::Method;

constexpr std::string_view kClient = "client";
constexpr std::string_view kServer = "server";
constexpr std::string_view kSalt = "rdmabench handshake";  // no key of another purpose is the same
constexpr std::string_view kMungeLabel = "rdmabench";

std::string end_text(const std::string& ip, std::uint16_t port) {
  return host_and_port(ip.substr(0, ip.find('%')), port);
}

/// Each part with its length before it: no two lists of parts have one text.
void add(std::string& text, std::string_view part) {
  text += static_cast<char>(part.size() >> 8U);
  text += static_cast<char>(part.size() & 0xffU);
  text += part;
}

/// The word of a peer's byte, or the first where it is none.
template <std::size_t N>
std::string_view word_of(const std::array<std::string_view, N>& words, std::uint8_t value) {
  return words[value < N ? value : 0];
}

std::string_view method_text(Method method) {
  constexpr std::array<std::string_view, 4> kWords{"an unknown way to authenticate", "a token",
                                                   "MUNGE", "no authentication (`insecure`)"};
  return word_of(kWords, static_cast<std::uint8_t>(method));
}

/// What MUNGE's credential carries: it is of this connection, and has the secret of its proofs.
std::string munge_payload(const Transcript& transcript) {
  std::string text(kMungeLabel);
  add(text, transcript.client_nonce);
  add(text, transcript.server_nonce);
  return text;
}

/// Where the peer has its token is known where this side's is in the usual place.
std::string remedy_of(const Authentication& own, const std::string& host) {
  const std::string copy = own.copy_line(host);
  if (copy.empty()) return "Give both sides the same `token_file`.";
  try {
    if (own.file() == own_token_file()) return "Copy it: " + copy;
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): there is no usual place
  }
  return fmt::format("Give both sides the same `token_file`; this side's is '{}'.", own.file());
}

[[noreturn]] void throw_refused(const std::string& peer, const std::string& host,
                                const Authentication& own, std::string_view payload) {
  const auto reason = static_cast<RefusalReason>(payload.empty() ? 0 : payload[0]);
  const auto theirs = static_cast<Method>(payload.size() < 2 ? 0 : payload[1]);
  switch (reason) {
    case RefusalReason::other_way:
      throw Refusal(Fault::failed,
                    fmt::format("the peer {} uses {}, this side {}", peer, method_text(theirs),
                                method_text(own.method())),
                    "Give both sides the same `auth`, and `insecure` to both or to neither.");
    case RefusalReason::other_secret:
      if (own.method() == Method::munge) {
        throw Refusal(
            Fault::failed,
            fmt::format("the peer {} did not accept this user's MUNGE credential", peer),
            "Both sides have to be the same user, on machines with the same key of munged "
            "and clocks that agree.");
      }
      throw Refusal(Fault::failed, fmt::format("the peer {} has another token", peer),
                    remedy_of(own, host));
    case RefusalReason::other_addresses:
      throw Refusal(
          Fault::failed,
          fmt::format("the peer {} has the same secret, but sees other addresses than this "
                      "side: they are translated on the way (NAT), which authentication "
                      "does not allow",
                      peer),
          "Connect to an address of the server itself: the host's network in place of a "
          "container's, a pod's address in place of a service's.");
    case RefusalReason::busy:
      throw ServerBusy(
          Fault::failed,
          fmt::format("too many connections to the peer {} are not authenticated yet", peer));
    case RefusalReason::late:
      throw BrokenHandshake(
          Fault::failed, fmt::format("the peer {} waited too long for this side's proof{}", peer,
                                     own.method() == Method::munge ? ", or for its munged" : ""));
    case RefusalReason::unreadable:
      break;
  }
  throw Refusal(Fault::failed, fmt::format("the peer {} refused to authenticate", peer),
                "Install the same rdmabench on both sides.");
}

[[noreturn]] void throw_unproved(const std::string& peer) {
  throw Refusal(
      Fault::failed,
      fmt::format("the peer {} did not prove that it has this side's secret: another process "
                  "answers there, or between the two ends",
                  peer),
      "Find out which process listens at that port: ss -ltnp.");
}

/// The answer of the server, which must be of this type.
std::string answer(Channel& channel, HandshakeMessage due, const std::string& host,
                   const Authentication& own, Deadline deadline) {
  const Message message = channel.receive(deadline, "answer to the authentication");
  if (message.type == HandshakeMessage::refusal) {
    throw_refused(channel.peer(), host, own, message.payload);
  }
  // A server says no more than a refusal before both ends are known, so another process sent this
  // text. Do not show it as the server's.
  if (message.type == HandshakeMessage::abort && !own.is_insecure()) throw_unproved(channel.peer());
  return channel.expect(message, due);
}

}  // namespace

std::string_view name_of(RefusalReason reason) noexcept {
  constexpr std::array<std::string_view, 7> kWords{
      "unknown",
      "another way to authenticate",
      "another token",
      "addresses are translated on the way",
      "too many connections of its address are not authenticated yet",
      "no proof in time",
      "not rdmabench, or another version of its protocol"};
  return word_of(kWords, static_cast<std::uint8_t>(reason));
}

std::string Transcript::text(std::string_view role, bool with_addresses) const {
  std::string text;
  add(text, "rdmabench");
  add(text, role);
  add(text, std::to_string(version));
  add(text, std::to_string(static_cast<unsigned>(method)));
  add(text, client_nonce);
  add(text, server_nonce);
  add(text, with_addresses ? client_end : "");
  add(text, with_addresses ? server_end : "");
  return text;
}

Digest handshake_key(std::string_view secret) {
  return hkdf_extract(kSalt, secret);
}

Digest proof_of(const Transcript& transcript, const Digest& key, std::string_view role,
                bool with_addresses) {
  return hkdf_expand(view(key), transcript.text(role, with_addresses));
}

SessionKeys session_keys(const Transcript& transcript, const Digest& key) {
  return {hkdf_expand(view(key), transcript.text("key from client to server")),
          hkdf_expand(view(key), transcript.text("key from server to client"))};
}

Channel Handshake::of_client(std::unique_ptr<ChannelSocket> connection, const Authentication& own,
                             const std::string& host, Deadline deadline,
                             const std::stop_token& stop) {
  Channel channel(std::move(connection));
  channel.connection_->stop = stop;
  know_server(channel, own, host, deadline);
  channel.connection_->stop = {};
  return channel;
}

void Handshake::know_server(Channel& channel, const Authentication& own, const std::string& host,
                            Deadline deadline) {
  ChannelSocket& connection = *channel.connection_;
  Transcript transcript{.method = own.method(),
                        .client_nonce = random_bytes(kNonce),
                        .client_end = end_text(connection.local_ip, connection.local_port),
                        .server_end = end_text(connection.peer_ip, connection.peer_port)};
  bool heard = false;
  try {
    channel.send(HandshakeMessage::greeting,
                 std::string(1, static_cast<char>(own.method())) + transcript.client_nonce,
                 deadline);
    if (own.is_insecure()) {
      answer(channel, HandshakeMessage::welcome, host, own, deadline);
      connection.max_payload = kMaxPayload;
      return;
    }
    transcript.server_nonce = answer(channel, HandshakeMessage::challenge, host, own, deadline);
    heard = true;
  } catch (const Refusal&) {
    throw;
  } catch (const BrokenHandshake&) {
    throw;
  } catch (const Cancelled&) {
    throw;
  } catch (const Error& error) {
    if (heard || deadline.passed()) throw;
    throw BrokenHandshake(Fault::failed, error.what());
  }
  if (transcript.server_nonce.size() != kNonce) throw_unproved(channel.peer());

  std::shared_ptr<const Secret> secret = own.secret_;
  std::string credential;
  if (own.method() == Method::munge) {
    const WipedText fresh(random_bytes(kMinSecret));
    secret = std::make_shared<const Secret>(fresh.text);
    const WipedText payload(munge_payload(transcript) + fresh.text);
    credential = munge_encode(payload.text);
  }
  const Digest key = handshake_key(secret->bytes());
  const Digest proof = proof_of(transcript, key, kClient);
  const Digest without = proof_of(transcript, key, kClient, false);
  std::string payload(view(proof));
  payload += view(without);
  channel.send(HandshakeMessage::proof, payload + credential, deadline);

  // A refusal has no code: the server does not know this side.
  const SessionKeys keys = session_keys(transcript, key);
  const Digest due = proof_of(transcript, key, kServer);
  if (!same_bytes(answer(channel, HandshakeMessage::welcome, host, own, deadline), view(due))) {
    throw_unproved(channel.peer());
  }
  connection.seals.emplace(view(keys.client_to_server), view(keys.server_to_client));
  connection.max_payload = kMaxPayload;
}

void Handshake::tell(Channel& channel, Authentication::Method method,
                     RefusalReason reason) noexcept {
  try {
    const std::array<char, 2> payload{static_cast<char>(reason), static_cast<char>(method)};
    channel.send(HandshakeMessage::refusal, {payload.data(), payload.size()}, Deadline::after({}));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // It has left, or does not read.
  }
}

std::string Handshake::refusal_text(const Channel& channel, RefusalReason reason) {
  return fmt::format("refused the peer {}: {}", channel.peer(), name_of(reason));
}

void Handshake::refuse(Channel& channel, RefusalReason reason) const {
  tell(channel, authentication_.method(), reason);
  throw RefusedHandshake(refusal_text(channel, reason), reason);
}

bool Handshake::proceed(Channel& channel) {
  for (;;) {
    if (decoding()) return take_credential(channel);
    std::optional<Message> message;
    try {
      message = channel.receive_ready("greeting");
    } catch (const Refusal&) {  // a header of another program or version
      refuse(channel, RefusalReason::unreadable);
    }
    if (!message) return false;
    const bool greeting = due_ == Due::greeting;
    if (message->type != (greeting ? HandshakeMessage::greeting : HandshakeMessage::proof)) {
      refuse(channel, RefusalReason::unreadable);
    }
    if (greeting ? greeted(channel, message->payload) : proved(channel, message->payload)) {
      return true;
    }
  }
}

bool Handshake::greeted(Channel& channel, std::string_view greeting) {
  if (greeting.size() != 1 + kNonce) refuse(channel, RefusalReason::unreadable);
  if (greeting[0] != static_cast<char>(authentication_.method())) {
    refuse(channel, RefusalReason::other_way);
  }
  set_up(*channel.connection_);
  if (authentication_.is_insecure()) {
    channel.send(HandshakeMessage::welcome, {}, Deadline::after({}));
    channel.connection_->max_payload = kMaxPayload;
    return true;
  }
  const ChannelSocket& connection = *channel.connection_;
  transcript_ = {.method = authentication_.method(),
                 .client_nonce = std::string(greeting.substr(1)),
                 .server_nonce = random_bytes(kNonce),
                 .client_end = end_text(connection.peer_ip, connection.peer_port),
                 .server_end = end_text(connection.local_ip, connection.local_port)};
  channel.send(HandshakeMessage::challenge, transcript_.server_nonce, Deadline::after({}));
  due_ = Due::proof;
  return false;
}

bool Handshake::proved(Channel& channel, std::string_view payload) {
  if (payload.size() < 2 * kDigest) refuse(channel, RefusalReason::unreadable);
  proofs_ = payload.substr(0, 2 * kDigest);
  if (authentication_.method() == Method::munge) {
    credential_ = decoder_->decode(std::string(payload.substr(2 * kDigest)));
    return false;
  }
  check(channel, *authentication_.secret_);
  return true;
}

bool Handshake::take_credential(Channel& channel) {
  if (!credential_->done()) return false;
  const auto decoded = credential_->take();
  const std::string due = munge_payload(transcript_);
  if (decoded == nullptr || decoded->text.size() != due.size() + kMinSecret ||
      !decoded->text.starts_with(due)) {
    refuse(channel, RefusalReason::other_secret);
  }
  check(channel, Secret(std::string_view(decoded->text).substr(due.size())));
  return true;
}

/// Returns when the client has this secret. It is welcome, and told so.
void Handshake::check(Channel& channel, const Secret& secret) const {
  const std::string_view proofs = proofs_;
  const Digest key = handshake_key(secret.bytes());
  const Digest due = proof_of(transcript_, key, kClient);
  if (!same_bytes(proofs.substr(0, kDigest), view(due))) {
    const Digest without = proof_of(transcript_, key, kClient, false);
    refuse(channel, same_bytes(proofs.substr(kDigest), view(without))
                        ? RefusalReason::other_addresses
                        : RefusalReason::other_secret);
  }
  const Digest own = proof_of(transcript_, key, kServer);
  channel.send(HandshakeMessage::welcome, view(own), Deadline::after({}));
  const SessionKeys keys = session_keys(transcript_, key);
  channel.connection_->seals.emplace(view(keys.server_to_client), view(keys.client_to_server));
  channel.connection_->max_payload = kMaxPayload;
}

}  // namespace rdmabench::inline v1::control
