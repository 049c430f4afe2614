// Well-formed messages of every kind, made by the code that writes them: what the fuzzer starts
// from.
#pragma once

#include <string>
#include <vector>

namespace rdmabench::inline v1::fuzz {

struct Seed {
  std::string target;  ///< "frame", "payload" or "import"
  std::string name;    ///< of the file
  std::string bytes;
};

std::vector<Seed> seeds();

}  // namespace rdmabench::inline v1::fuzz
