#include "secret.h"

#include <fmt/format.h>
#include <string.h>  // NOLINT(modernize-deprecated-headers): explicit_bzero(3) is not C++
#include <sys/random.h>

#include <cerrno>

#include "loaded/library.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#if RDMABENCH_HAVE_CRYPTO
#include <openssl/hmac.h>
#endif

namespace rdmabench::inline v1::control {

void Secret::wipe(void* bytes, std::size_t size) noexcept {
  if (size != 0) explicit_bzero(bytes, size);
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t have = 0; have < count;) {
    const ssize_t got = getrandom(bytes.data() + have, count - have, 0);
    if (got < 0 && errno != EINTR) throw Error(Fault::failed, "getrandom()", {}, errno);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string random_text(std::size_t count) {
  std::string text;
  for (const char byte : random_bytes(count)) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

#if RDMABENCH_HAVE_CRYPTO
bool can_authenticate() noexcept {
  return loaded::crypto.find("HMAC") != nullptr && loaded::crypto.find("EVP_sha256") != nullptr;
}

Digest hmac_sha256(std::string_view key, std::string_view data) {
  static const auto hmac = reinterpret_cast<decltype(&HMAC)>(loaded::crypto.function("HMAC"));
  static const auto sha256 =
      reinterpret_cast<decltype(&EVP_sha256)>(loaded::crypto.function("EVP_sha256"))();
  Digest digest;
  unsigned size = 0;
  const unsigned char* const done =
      hmac(sha256, key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(data.data()), data.size(),
           reinterpret_cast<unsigned char*>(digest.bytes.data()), &size);
  if (done == nullptr || size != digest.bytes.size()) {
    throw Error(Fault::failed, "HMAC() with SHA-256",
                "Does this machine's OpenSSL configuration (openssl.cnf) leave SHA-256 out?", 0,
                {.library = "libcrypto", .call = "HMAC"});
  }
  return digest;
}
#else
bool can_authenticate() noexcept {
  return false;
}

Digest hmac_sha256(std::string_view /*key*/, std::string_view /*data*/) {
  throw Error(
      Fault::unavailable,
      "this rdmabench was built without OpenSSL's libcrypto, so it cannot authenticate",
      "Build it with libssl-dev (Debian) or openssl-devel (RHEL) and RDMABENCH_CRYPTO=ON, or "
      "set `insecure` on both sides.");
}
#endif

Digest hkdf_extract(std::string_view salt, std::string_view secret) {
  return hmac_sha256(salt, secret);
}

Digest hkdf_expand(std::string_view key, std::string_view info) {
  return hmac_sha256(key, std::string(info) + '\1');
}

bool same_bytes(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  unsigned char differences = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differences = static_cast<unsigned char>(differences | (a[i] ^ b[i]));
  }
  return differences == 0;
}

}  // namespace rdmabench::inline v1::control
