#include "control/secret.h"

#include <gtest/gtest.h>

#include <string>

#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

/// The bytes `first`, `first` + 1, ...
std::string count_from(int first, std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(first + static_cast<int>(i));
  return bytes;
}

TEST(Hmac, GivesTheValueOfRfc4231) {
  EXPECT_EQ(view(hmac_sha256("Jefe", "what do ya want for nothing?")),
            bytes_of("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
}

TEST(Hkdf, GivesTheValuesOfRfc5869) {  // A.1 to A.3, the first 32 bytes
  struct Vector {
    std::string salt, secret, info;
    std::string_view key, first;
  };
  for (const Vector& one :
       {Vector{count_from(0, 13), std::string(22, '\x0b'), count_from(0xf0, 10),
               "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
               "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"},
        Vector{count_from(0x60, 80), count_from(0, 80), count_from(0xb0, 80),
               "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
               "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"},
        Vector{"", std::string(22, '\x0b'), "",
               "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
               "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"}}) {
    const Digest key = hkdf_extract(one.salt, one.secret);
    EXPECT_EQ(view(key), bytes_of(one.key));
    EXPECT_EQ(view(hkdf_expand(view(key), one.info)), bytes_of(one.first));
  }
}

template <class T>
void expect_wiped(auto&&... made_of) {
  alignas(T) std::array<char, sizeof(T)> place{};
  T* const made = new (place.data()) T(made_of...);
  EXPECT_NE(std::string_view(place.data(), place.size()), std::string(place.size(), '\0'));
  made->~T();
  EXPECT_EQ(std::string_view(place.data(), place.size()), std::string(place.size(), '\0'));
}

TEST(Digest, IsOverwrittenWhenItIsDestroyed) {
  const Digest key = hkdf_extract("", "secret");
  expect_wiped<Digest>(key);
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
}  // namespace rdmabench::inline v1::control
