#include "messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "rdmabench/base/error.h"

namespace rdmabench::transport::verbs {
namespace {

using nlohmann::json;
using rdmabench::verbs::Candidate;
using rdmabench::verbs::Gid;
using rdmabench::verbs::LinkLayer;

constexpr std::size_t kMaxText = std::size_t{4} << 20;
constexpr std::size_t kMaxCandidates = 4096;
constexpr std::size_t kMaxName = 63;
constexpr std::size_t kMaxReason = 512;
constexpr std::uint64_t kMaxMbps = 10'000'000;
constexpr std::uint64_t k24Bits = 0xffffff;

// One verb object of a peer: what is wrong with it is always said in the same words.
[[noreturn]] void refuse_text(std::string_view whose, std::string_view problem) {
  throw Error(Fault::failed, fmt::format("the {} is malformed: {}", whose, problem),
              "Run the same release of rdmabench on both sides.");
}

json parse_object(std::string_view text, std::string_view whose) {
  if (text.size() > kMaxText) refuse_text(whose, fmt::format("it has {} bytes", text.size()));
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) refuse_text(whose, "it is not a JSON object");
  return object;
}

/// The checked fields of one JSON object, which must outlive it.
class Fields {
 public:
  Fields(const json& object, std::string_view whose) : object_(object), whose_(whose) {
    if (!object_.is_object()) refuse_text(whose_, "an entry is not an object");
  }

  template <class T>
  T number(const char* key, std::uint64_t low, std::uint64_t high) const {
    const json& value = at(key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < low ||
        value.get<std::uint64_t>() > high) {
      refuse_text(whose_, fmt::format("'{}' is {}, not a number from {} to {}", key, shown(value),
                                      low, high));
    }
    return static_cast<T>(value.get<std::uint64_t>());
  }

  bool flag(const char* key) const {
    const json& value = at(key);
    if (!value.is_boolean()) refuse_text(whose_, fmt::format("'{}' is not true or false", key));
    return value.get<bool>();
  }

  /// Printable ASCII only: the text may end on a terminal.
  std::string text(const char* key, std::size_t limit) const {
    const json& value = at(key);
    if (!value.is_string()) refuse_text(whose_, fmt::format("'{}' is not a text", key));
    const auto& text = value.get_ref<const std::string&>();
    const bool printable =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (text.size() > limit || !printable) {
      refuse_text(whose_,
                  fmt::format("'{}' is not a text of at most {} printable characters", key, limit));
    }
    return text;
  }

  const json& list(const char* key, std::size_t least, std::size_t most) const {
    const json& value = at(key);
    if (!value.is_array() || value.size() < least || value.size() > most) {
      refuse_text(whose_, fmt::format("'{}' is not a list of {} to {}", key, least, most));
    }
    return value;
  }

  Gid gid(const char* key) const {
    const auto gid = rdmabench::verbs::parse_gid(text(key, kMaxName));
    if (!gid) refuse_text(whose_, fmt::format("'{}' is not an address", key));
    return *gid;
  }

  std::uint32_t mtu(const char* key) const {
    const auto mtu = number<std::uint32_t>(key, 256, 4096);
    if ((mtu & (mtu - 1)) != 0)
      refuse_text(whose_, fmt::format("'{}' is {}, not an MTU", key, mtu));
    return mtu;
  }

 private:
  const json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) refuse_text(whose_, fmt::format("'{}' is missing", key));
    return *found;
  }

  static std::string shown(const json& value) {
    return value.is_number() ? value.dump() : value.type_name();
  }

  const json& object_;
  std::string_view whose_;
};

constexpr std::array kLinkLayers{LinkLayer::infiniband, LinkLayer::ethernet,
                                 LinkLayer::unspecified};

std::uint64_t to_mbps(double gbps) {
  return static_cast<std::uint64_t>(std::llround(gbps * 1000));
}

Candidate read_candidate(const json& object, std::string_view whose) {
  const Fields fields(object, whose);
  Candidate candidate;
  candidate.device = fields.text("device", kMaxName);
  candidate.port = fields.number<std::uint8_t>("port", 1, 255);
  const std::string link = fields.text("link", kMaxName);
  for (const LinkLayer layer : kLinkLayers) {
    if (link == name(layer)) candidate.link_layer = layer;
  }
  candidate.mtu = fields.mtu("mtu");
  candidate.lid = fields.number<std::uint32_t>("lid", 0, 0xffff);
  candidate.needs_grh = fields.flag("grh");
  candidate.gbps = fields.number<double>("mbps", 0, kMaxMbps) / 1000;
  candidate.pcie_is_slower = fields.flag("pcie");
  candidate.gid.index = fields.number<std::uint32_t>("index", 0, 255);
  candidate.gid.gid = fields.gid("gid");
  const auto type = rdmabench::verbs::parse_gid_type(fields.text("type", kMaxName));
  if (!type) refuse_text(whose, "'type' is not a type of GID");
  candidate.gid.type = *type;
  candidate.gid.interface = fields.text("interface", kMaxName);
  // 255: the length of the prefix is not known.
  const int bits = fields.number<int>("prefix", 0, 255);
  candidate.gid.prefix_length =
      bits <= (rdmabench::verbs::is_ipv4(candidate.gid.gid) ? 32 : 128) ? bits : -1;
  return candidate;
}

}  // namespace

std::string write_offer(std::span<const Candidate> candidates) {
  json list = json::array();
  for (const Candidate& from : candidates) {
    list.push_back({{"device", from.device},
                    {"port", from.port},
                    {"link", name(from.link_layer)},
                    {"mtu", from.mtu},
                    {"lid", from.lid},
                    {"grh", from.needs_grh},
                    {"mbps", to_mbps(from.gbps)},
                    {"pcie", from.pcie_is_slower},
                    {"index", from.gid.index},
                    {"gid", to_text(from.gid.gid)},
                    {"type", name(from.gid.type)},
                    {"interface", from.gid.interface},
                    {"prefix", static_cast<std::uint8_t>(from.gid.prefix_length)}});
  }
  return json{{"candidates", std::move(list)}}.dump();
}

std::vector<Candidate> read_offer(std::string_view text, std::string_view whose) {
  const std::string name = fmt::format("{}'s verbs offer", whose);
  const json object = parse_object(text, name);
  const auto list = object.find("candidates");
  if (list == object.end() || !list->is_array()) refuse_text(name, "'candidates' is not a list");
  if (list->size() > kMaxCandidates) {
    refuse_text(name,
                fmt::format("it has {} candidates, more than {}", list->size(), kMaxCandidates));
  }
  std::vector<Candidate> candidates;
  for (const json& entry : *list) candidates.push_back(read_candidate(entry, name));
  return candidates;
}

std::string write_placement(const Placement& placement) {
  return json{{"device", placement.device},   {"port", placement.port},
              {"index", placement.gid_index}, {"global", placement.global},
              {"mtu", placement.mtu},         {"mbps", to_mbps(placement.gbps)},
              {"slower", placement.slower},   {"reason", placement.reason}}
      .dump();
}

Placement read_placement(std::string_view text) {
  constexpr std::string_view kWhose = "client's verbs choice";
  const json object = parse_object(text, kWhose);
  const Fields fields(object, kWhose);
  return {.device = fields.text("device", kMaxName),
          .port = fields.number<std::uint8_t>("port", 1, 255),
          .gid_index = fields.number<std::uint8_t>("index", 0, 255),
          .global = fields.flag("global"),
          .mtu = fields.mtu("mtu"),
          .gbps = fields.number<double>("mbps", 0, kMaxMbps) / 1000,
          .slower = fields.text("slower", kMaxReason),
          .reason = fields.text("reason", kMaxReason)};
}

std::string write_address(const Address& address) {
  json queues = json::array();
  for (const QueueAddress& queue : address.queues) {
    queues.push_back({{"qpn", queue.qpn},
                      {"psn", queue.psn},
                      {"receiver", queue.receiver},
                      {"key", queue.window_key}});
  }
  return json{{"service", name(address.service)},
              {"queue_pairs", address.queue_pairs},
              {"queues", std::move(queues)},
              {"qkey", address.q_key},
              {"dckey", address.dc_key},
              {"srq", address.shared_receives},
              {"lid", address.lid},
              {"gid", to_text(address.gid)},
              {"mtu", address.mtu},
              {"reads", address.reads_in},
              {"window", address.window},
              {"bytes", address.window_bytes},
              {"stride", address.stride},
              {"listener", address.listener},
              {"manager", to_text(address.manager)},
              {"session", address.session}}
      .dump();
}

Address read_address(std::string_view text) {
  constexpr std::string_view kWhose = "peer's verbs address";
  constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
  const json object = parse_object(text, kWhose);
  const Fields fields(object, kWhose);
  Address address;
  const std::string service = fields.text("service", kMaxName);
  const auto known = std::find(kServiceNames.begin(), kServiceNames.end(), service);
  if (known == kServiceNames.end()) refuse_text(kWhose, "'service' is not a transport");
  address.service = static_cast<Service>(known - kServiceNames.begin());
  address.queue_pairs = fields.number<std::uint32_t>("queue_pairs", 1, kMaxQueuePairs);
  for (const json& entry : fields.list("queues", 1, address.queue_pairs)) {
    const Fields queue(entry, kWhose);
    address.queues.push_back({.qpn = queue.number<std::uint32_t>("qpn", 1, k24Bits),
                              .psn = queue.number<std::uint32_t>("psn", 0, k24Bits),
                              .receiver = queue.number<std::uint32_t>("receiver", 0, k24Bits),
                              .window_key = queue.number<std::uint32_t>("key", 0, kMax32)});
  }
  address.q_key = fields.number<std::uint32_t>("qkey", 0, kMax32);
  address.dc_key = fields.number<std::uint64_t>("dckey", 0, kMax64);
  address.shared_receives = fields.number<std::uint32_t>("srq", 0, kMax32);
  address.lid = fields.number<std::uint16_t>("lid", 0, 0xffff);
  address.gid = fields.gid("gid");
  address.mtu = fields.mtu("mtu");
  address.reads_in = fields.number<std::uint8_t>("reads", 0, 255);
  address.window = fields.number<std::uint64_t>("window", 1, kMax64);
  address.window_bytes = fields.number<std::uint64_t>("bytes", 1, kMax64 - address.window);
  address.stride = fields.number<std::uint64_t>("stride", 1, kMax64);
  address.listener = fields.number<std::uint16_t>("listener", 0, 0xffff);
  address.manager = fields.gid("manager");
  address.session = fields.number<std::uint64_t>("session", 0, kMax64);
  return address;
}

}  // namespace rdmabench::transport::verbs
