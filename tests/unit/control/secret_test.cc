#include "control/secret.h"

#include <gtest/gtest.h>

#include <string>

#include "peers.h"

namespace rdmabench::control {
namespace {

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

TEST(Hmac, GivesTheValueOfRfc4231) {
  EXPECT_EQ(view(hmac_sha256("Jefe", "what do ya want for nothing?")),
            bytes_of("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
}

TEST(Hkdf, GivesTheValueOfRfc5869) {
  const Digest key = hkdf_extract(bytes_of("000102030405060708090a0b0c"), std::string(22, '\x0b'));
  EXPECT_EQ(view(key),
            bytes_of("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"));
  EXPECT_EQ(view(hkdf_expand(view(key), bytes_of("f0f1f2f3f4f5f6f7f8f9"))),
            bytes_of("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"));
}

TEST(SameBytes, ComparesAllOfThem) {
  EXPECT_TRUE(same_bytes("", ""));
  EXPECT_TRUE(same_bytes("abc", "abc"));
  EXPECT_FALSE(same_bytes("abc", "abd"));
  EXPECT_FALSE(same_bytes("abc", "ab"));
}

TEST(RandomBytes, AreNeverTheSame) {
  EXPECT_EQ(control::random_bytes(kNonce).size(), kNonce);
  EXPECT_NE(control::random_bytes(kNonce), control::random_bytes(kNonce));
}

TEST(Authentication, TakesASecretOf32To4096Bytes) {
  EXPECT_THAT(complaint([] { Authentication::secret(std::string(31, 'x')); }),
              ::testing::HasSubstr("a secret of 31 bytes"));
  EXPECT_THROW(Authentication::secret(std::string(4097, 'x')), Error);
  EXPECT_NO_THROW(Authentication::secret(std::string(4096, 'x')));
}

}  // namespace
}  // namespace rdmabench::control
