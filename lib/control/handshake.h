// What the two ends of a connection say before anything else, so that each knows the other:
//
//   client                                                  server
//   greeting {way, nonce}                                ->
//                                                        <- challenge {nonce}
//   proof {proof, proof without addresses, credential}   ->
//                                                        <- welcome {proof}
//
// or, at any time, <- refusal {reason, way}. HKDF-Extract makes a key of the secret. Proofs and
// session keys, one for each direction, are what HKDF-Expand makes of that key and of the
// transcript: what it is for, the way, both nonces, the protocol version and the addresses of both
// ends. Every later frame has codes (seal.h). Where neither end proves anything the welcome follows
// the greeting. docs/security.md says why this holds.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "frame.h"
#include "munge_decoder.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "secret.h"

namespace rdmabench::inline v1::control {

enum class HandshakeMessage : std::uint16_t {
  abort = kAbortCode,
  greeting,
  challenge,
  proof,
  welcome,
  refusal,
};
static_assert(static_cast<std::uint16_t>(HandshakeMessage::refusal) == kLastCommonCode);
constexpr std::string_view name_of(HandshakeMessage type) noexcept {
  return message_name(
      static_cast<std::uint16_t>(type), static_cast<std::uint16_t>(HandshakeMessage::greeting),
      std::array<std::string_view, 5>{"greeting", "challenge", "proof", "welcome", "refusal"});
}

enum class RefusalReason : std::uint8_t {
  other_way = 1,    ///< one end is insecure, or only one uses MUNGE
  other_secret,     ///< another token, or another user
  other_addresses,  ///< the same secret; but somebody between the ends translates addresses
  busy,             ///< too many connections are not authenticated yet: try again
  late,             ///< no proof in time
  unreadable,       ///< not a message of the handshake, or not as it should be
};
std::string_view name_of(RefusalReason reason) noexcept;

/// The connection broke before anyone answered: trying again may help.
class BrokenHandshake : public Error {
 public:
  using Error::Error;
};

/// The server refused for want of room.
class ServerBusy : public BrokenHandshake {
 public:
  using BrokenHandshake::BrokenHandshake;
};

/// A server's half has refused its client, and told it so.
class RefusedHandshake : public Error {
 public:
  RefusedHandshake(const std::string& text, RefusalReason reason)
      : Error(Fault::failed, text), reason_(reason) {}

  RefusalReason reason() const noexcept { return reason_; }

 private:
  RefusalReason reason_;
};

/// What a proof and the session keys are made of.
struct Transcript {
  std::uint16_t version = kProtocolVersion;
  Authentication::Method method = Authentication::Method::token;
  std::string client_nonce{};
  std::string server_nonce{};
  std::string client_end{};  ///< "10.0.0.1:4242", without the scope of a link-local address
  std::string server_end{};

  std::string text(std::string_view role, bool with_addresses = true) const;
};

struct SessionKeys {
  Digest client_to_server;
  Digest server_to_client;
};

/// What proofs and session keys are made from.
Digest handshake_key(std::string_view secret);
Digest proof_of(const Transcript& transcript, const Digest& key, std::string_view role,
                bool with_addresses = true);
SessionKeys session_keys(const Transcript& transcript, const Digest& key);

/// The two halves. `authentication` is loaded().
class Handshake {
 public:
  /// The client's, over a connection that is set up: returns when the server is known. Throws
  /// Error(failed) with the server's reason, Cancelled when `stop` is requested, and
  /// BrokenHandshake. `host` is what the user calls the server.
  static Channel of_client(std::unique_ptr<ChannelSocket> connection,
                           const Authentication& authentication, const std::string& host,
                           Deadline deadline, const std::stop_token& stop);

  /// The server's, a step at a time: it never waits. `decoder` is for MUNGE alone.
  explicit Handshake(const Authentication& authentication, MungeDecoder* decoder)
      : authentication_(authentication), decoder_(decoder) {}

  /// Takes what has arrived. True when the client is known, and welcome. Throws Error when it is to
  /// be closed: it left, or was refused.
  bool proceed(Channel& channel);

  /// Whether a credential is being decoded: nothing more is read until it is.
  bool decoding() const noexcept { return credential_ != nullptr; }
  bool decoded() const noexcept { return decoding() && credential_->done(); }

  /// Says why, as far as the peer listens: it needs no memory.
  static void tell(Channel& channel, Authentication::Method method, RefusalReason reason) noexcept;
  static std::string refusal_text(const Channel& channel, RefusalReason reason);

 private:
  enum class Due : std::uint8_t { greeting, proof };

  static void know_server(Channel& channel, const Authentication& own, const std::string& host,
                          Deadline deadline);
  [[noreturn]] void refuse(Channel& channel, RefusalReason reason) const;
  bool greeted(Channel& channel, std::string_view greeting);
  bool proved(Channel& channel, std::string_view payload);
  bool take_credential(Channel& channel);
  void check(Channel& channel, const Secret& secret) const;

  const Authentication& authentication_;
  MungeDecoder* decoder_;
  Due due_ = Due::greeting;
  Transcript transcript_{};
  std::string proofs_{};  ///< the client's, with addresses and without
  std::shared_ptr<MungeDecoder::Job> credential_{};
};

}  // namespace rdmabench::inline v1::control
