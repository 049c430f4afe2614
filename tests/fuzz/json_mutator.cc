// Half of the mutations change a value of the JSON document behind the tag, so that most inputs get
// past the reader of JSON to the checks of fields; the other half are libFuzzer's own.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "seeds.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Json = nlohmann::ordered_json;
using Random = std::minstd_rand;

constexpr std::uint64_t kMax64 = ~std::uint64_t{0};
constexpr std::array<std::uint64_t, 16> kEdges{0,
                                               1,
                                               2,
                                               127,
                                               255,
                                               256,
                                               512,
                                               65535,
                                               65536,
                                               0xffffff,
                                               1U << 28,
                                               0x7fffffff,
                                               0xffffffff,
                                               std::uint64_t{1} << 53,
                                               std::uint64_t{1} << 63,
                                               kMax64};
constexpr std::array<std::string_view, 12> kTexts{
    "",           "::",       "10.0.0.2", "fe80::1%eth0", "::ffff:169.254.0.1", "RoCE v1",
    "InfiniBand", "Ethernet", "read",     "tcp",          "\xc3\xa9\x01\x7f",   "{\"a\":[1]}"};

void collect(Json& json, std::vector<Json*>& nodes) {
  if (!json.is_structured()) return;
  for (Json& item : json) {
    nodes.push_back(&item);
    collect(item, nodes);
  }
}

Json new_value(const Json& old, Random& random) {
  const std::uint64_t edge = kEdges[random() % kEdges.size()];
  switch (random() % 8) {
    case 0:
      return edge - random() % 3;
    case 1:
      return edge + random() % 3;
    case 2:
      return old.is_number_unsigned() ? Json(old.get<std::uint64_t>() + random() % 5 - 2)
                                      : Json(random() % 200000);
    case 3:
      return -static_cast<std::int64_t>(edge >> 1U);
    case 4:
      return kTexts[random() % kTexts.size()];
    case 5:
      return old.is_string() ? Json(old.get<std::string>().append(1U << random() % 10, 'x'))
                             : Json(random() % 2 == 0);
    case 6:
      return static_cast<double>(edge) / 3;
    default:
      return Json::array({old, nullptr});
  }
}

/// Some rules are broken by two numbers together only: an address and a length that wrap.
bool push_two_numbers(std::vector<Json*> nodes, Random& random) {
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [](const Json* node) { return !node->is_number(); }),
              nodes.end());
  for (int i = 0; i < 2 && !nodes.empty(); ++i) {
    *nodes[random() % nodes.size()] =
        random() % 4 != 0 ? kMax64 >> random() % 3 : kEdges[random() % kEdges.size()];
  }
  return !nodes.empty();
}

std::vector<std::string> payload_seeds() {
  std::vector<std::string> list;
  for (const rdmabench::fuzz::Seed& seed : rdmabench::fuzz::seeds()) {
    if (seed.target == "payload") list.push_back(seed.bytes);
  }
  return list;
}

/// One change to a document. False where there is nothing to change.
bool change(Json& document, Random& random) {
  std::vector<Json*> nodes;
  collect(document, nodes);
  if (nodes.empty()) return false;
  if (random() % 3 == 0) return push_two_numbers(nodes, random);
  Json& node = *nodes[random() % nodes.size()];
  if (random() % 8 == 0 && node.is_array() && !node.empty()) {
    const Json copy = node[random() % node.size()];
    node.push_back(copy);
  } else if (random() % 8 == 0 && node.is_structured() && !node.empty()) {
    node.erase(std::next(node.begin(), static_cast<std::ptrdiff_t>(random() % node.size())));
  } else if (random() % 16 == 0) {
    node = *nodes[random() % nodes.size()] == node ? Json(nullptr) : Json(Json::object());
  } else {
    node = new_value(node, random);
  }
  return true;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  static const std::vector<std::string> kSeeds = payload_seeds();
  Random random(seed);
  const auto mode = random() % 4;
  if (mode < 2) return LLVMFuzzerMutate(data, size, most);
  // What the fuzzer keeps is mostly broken JSON, so every other time it starts from a good message.
  const std::string bytes = mode == 2 ? kSeeds[random() % kSeeds.size()]
                                      : std::string(reinterpret_cast<const char*>(data), size);
  const std::size_t brace = std::min<std::size_t>(1, bytes.size());
  Json document = Json::parse(bytes.begin() + brace, bytes.end(), nullptr,
                              /*allow_exceptions=*/false);
  if (!document.is_object()) return LLVMFuzzerMutate(data, size, most);
  for (auto changes = 1 + random() % 3; changes-- > 0;) {
    if (!change(document, random)) return LLVMFuzzerMutate(data, size, most);
  }
  const std::string text =
      bytes.substr(0, 1) + document.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}
