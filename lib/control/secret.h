// Bytes that only the ends of a connection may know, and what is computed from them. HMAC-SHA256 is
// that of OpenSSL's libcrypto, loaded when it is first needed.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace rdmabench::inline v1::control {

inline constexpr std::size_t kMinSecret = 32;    ///< bytes
inline constexpr std::size_t kMaxSecret = 4096;  ///< bytes
inline constexpr std::size_t kNonce = 32;        ///< bytes
inline constexpr std::size_t kRunIdBytes = 16;   ///< before they are text
inline constexpr std::size_t kDigest = 32;       ///< bytes of SHA-256

/// Overwritten when it is destroyed; nothing prints it.
class Secret {
 public:
  explicit Secret(std::string_view bytes)
      : bytes_(std::make_unique<char[]>(bytes.size())), size_(bytes.size()) {
    bytes.copy(bytes_.get(), size_);
  }
  ~Secret() { wipe(bytes_.get(), size_); }
  Secret& operator=(Secret&&) = delete;

  std::string_view bytes() const noexcept { return {bytes_.get(), size_}; }

  /// explicit_bzero(3).
  static void wipe(void* bytes, std::size_t size) noexcept;

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

/// A text that is overwritten at the end of its scope: what a secret is read or computed in.
struct WipedText {
  std::string text;

  explicit WipedText(std::string of = {}) : text(std::move(of)) {}
  ~WipedText() { Secret::wipe(text.data(), text.size()); }
  WipedText& operator=(WipedText&&) = delete;
};

/// Of HMAC-SHA256. It may be a key: each copy is overwritten when it is destroyed.
struct Digest {
  Digest() = default;
  ~Digest() { Secret::wipe(bytes.data(), bytes.size()); }
  Digest(const Digest&) = default;
  Digest& operator=(const Digest&) = default;

  std::array<char, kDigest> bytes{};
};

/// From getrandom(2). Throws Error(failed).
std::string random_bytes(std::size_t count);
/// As many, in hexadecimal digits.
std::string random_text(std::size_t count);

/// Whether libcrypto is here.
bool can_authenticate() noexcept;

/// RFC 2104 with SHA-256. Throws Error(unavailable) with the package's name where libcrypto is
/// missing.
Digest hmac_sha256(std::string_view key, std::string_view data);

/// RFC 5869, its two steps; an output of one digest. There is one program for libcrypto 1.1 and 3,
/// which share HMAC() but no function for this. Extracting takes the secret as the message of HMAC.
/// As its key, a secret would be the same as with zeros behind it, and one of over 64 bytes the
/// same as its hash (RFC 2104).
Digest hkdf_extract(std::string_view salt, std::string_view secret);
Digest hkdf_expand(std::string_view key, std::string_view info);

inline std::string_view view(const Digest& digest) noexcept {
  return {digest.bytes.data(), digest.bytes.size()};
}

/// In a time that does not depend on where they differ.
bool same_bytes(std::string_view a, std::string_view b) noexcept;

}  // namespace rdmabench::inline v1::control
