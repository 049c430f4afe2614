// fuzz: what must hold for any bytes that a peer may send or a user bring.
//
// Each target is one function over bytes. libFuzzer drives it (libfuzzer.cc); a unit test replays
// the corpus through it (replay_test.cc). An exception other than rdmabench::Error passes through
// and ends the fuzzer, as do the sanitizers and the limits on memory and time.
#pragma once

#include <string>
#include <string_view>

namespace rdmabench::inline v1::fuzz {

struct Verdict {
  std::string broken{};  ///< the rule that the bytes broke; "" if none
  bool taken = false;    ///< whether they were read, not refused
  bool known = true;     ///< whether a target of this build has their tag
};

/// A first byte of 'c' sends the rest through a Channel, in pieces as long as the second byte says;
/// 's' sends it to a listener as a stranger, after a right greeting where a 'p' follows, and to one
/// that takes MUNGE after that greeting where an 'm' does; anything else is read as one frame and
/// its fields.
Verdict judge_frame(std::string_view bytes);

/// The first byte is the tag of a decoder (see payload_target.cc), the rest is what it reads.
Verdict judge_payload(std::string_view bytes);

/// The first byte names what a user brings (see import_target.cc), the rest is the file.
Verdict judge_import(std::string_view bytes);

}  // namespace rdmabench::inline v1::fuzz
