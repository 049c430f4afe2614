#include "seal.h"

#include <algorithm>
#include <string>

namespace rdmabench::inline v1::control {

Code Seal::next(std::string_view part) {
  constexpr int kByte = 8;
  std::string input(sizeof sequence_, '\0');
  std::uint64_t number = sequence_++;
  for (char& byte : input) {
    byte = static_cast<char>(number & 0xffU);
    number >>= kByte;
  }
  input += part;
  const Digest digest = hmac_sha256(key_.bytes(), input);
  Code code{};
  std::copy_n(digest.bytes.begin(), code.size(), code.begin());
  return code;
}

}  // namespace rdmabench::inline v1::control
