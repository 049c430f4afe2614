// Asio, for the .cc files of this room that make connections: it knows names, addresses and both IP
// families. The bytes of a connection then go by recv(2) and send(2): a read that Asio times out
// cannot be taken up again, and each of its contexts holds three file descriptors.
#pragma once

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif
#define ASIO_NO_DEPRECATED
#define ASIO_DISABLE_CO_AWAIT      // unused, and clang 14 looks for a header that libstdc++ has not
#define ASIO_DISABLE_FENCED_BLOCK  // a context has one thread here, and ThreadSanitizer has no
                                   // fences

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "connection.h"

namespace rdmabench::control {

/// As Channel::peer_ip() describes.
std::string address_text(const asio::ip::address& address);

/// "10.0.0.1:18515", "[::1]:18515".
std::string host_and_port(const std::string& host, std::uint16_t port);

/// Takes over `socket`, just connected to `peer`, which does not block. `host` is what error texts
/// call the peer.
std::unique_ptr<ChannelSocket> adopt(Descriptor socket, const asio::ip::tcp::endpoint& peer,
                                     const std::string& host);

/// Makes it ready for messages, and looks up its own end: before that a connection of a stranger
/// costs no calls.
void set_up(ChannelSocket& connection);

}  // namespace rdmabench::control
