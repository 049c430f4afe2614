#include "rdmabench/run/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "rdmabench/base/error.h"
#include "rdmabench/control/fields.h"
#include "rdmabench/control/printable.h"

namespace rdmabench::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxName = 256;      // bytes of a name
constexpr std::size_t kMaxOffer = 262144;  // bytes of an offer: a host may have many GIDs
constexpr std::size_t kMaxOffers = 16;     // back ends
constexpr std::size_t kMaxFacts = 256;

constexpr std::string_view kLatency = "latency";
constexpr std::string_view kBandwidth = "bandwidth";

/// Bytes that are not UTF-8 (a host name may hold any) become U+FFFD.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json offers_json(const std::vector<Offer>& offers) {
  Json list = Json::array();
  for (const Offer& offer : offers) {
    list.push_back({{"backend", offer.backend}, {"offer", offer.text}, {"error", offer.error}});
  }
  return list;
}

std::vector<Offer> offers_from(const nlohmann::json& message) {
  std::vector<Offer> offers;
  for (const nlohmann::json& item : control::get_list(message, "offers", kMaxOffers)) {
    offers.push_back({.backend = control::get_string(item, "backend", kMaxName),
                      .text = control::get_string(item, "offer", kMaxOffer),
                      .error = control::get_string(item, "error", kMaxOffer)});
  }
  return offers;
}

workload::Shape shape_from(const std::string& text) {
  if (text == kLatency) return workload::Shape::latency;
  if (text == kBandwidth) return workload::Shape::stream;
  throw Error(Fault::failed,
              fmt::format("the peer asks for the unknown test '{}'", control::printable(text, 40)));
}

transport::OperationCode operation_from(const std::string& text) {
  const auto& names = transport::kOperationNames;
  const auto* const found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    throw Error(Fault::failed, fmt::format("the peer asks for the unknown operation '{}'",
                                           control::printable(text, 40)));
  }
  return static_cast<transport::OperationCode>(found - names.begin());
}

}  // namespace

std::string to_text(const Request& request) {
  const SessionSpec& spec = request.spec;
  return dump({{"test", spec.shape == workload::Shape::latency ? kLatency : kBandwidth},
               {"operation", transport::name(spec.operation)},
               {"max_size_bytes", spec.max_size},
               {"depth", spec.depth},
               {"signal_every", spec.signal_every},
               {"inline_limit_bytes", spec.inline_limit},
               {"mtu_bytes", spec.mtu},
               {"validate", spec.validate},
               {"provider", spec.provider},
               {"timeout_ms", spec.timeout.count()},
               {"offers", offers_json(request.offers)}});
}

Request parse_request(std::string_view text) {
  const nlohmann::json json = control::parse_object(text, "request");
  Request request;
  SessionSpec& spec = request.spec;
  spec.shape = shape_from(control::get_string(json, "test", kMaxName));
  spec.operation = operation_from(control::get_string(json, "operation", kMaxName));
  spec.max_size = control::get_uint(json, "max_size_bytes", 1, kMaxSize);
  spec.depth = control::get_uint<std::uint32_t>(json, "depth", 1, kMaxDepth);
  spec.signal_every = control::get_uint<std::uint32_t>(json, "signal_every", 1, spec.depth);
  spec.inline_limit =
      static_cast<std::int32_t>(control::get_int(json, "inline_limit_bytes", -1, 1 << 20));
  spec.mtu = static_cast<std::int32_t>(control::get_int(json, "mtu_bytes", 0, 65536));
  spec.validate = control::get_bool(json, "validate");
  spec.provider = control::get_string(json, "provider", kMaxName);
  spec.timeout = std::chrono::milliseconds(control::get_uint(json, "timeout_ms", 100, 600000));
  request.offers = offers_from(json);
  return request;
}

std::string to_text(const std::vector<Offer>& offers) {
  return dump({{"offers", offers_json(offers)}});
}

std::vector<Offer> parse_offers(std::string_view text) {
  return offers_from(control::parse_object(text, "offer"));
}

std::string to_text(const Selection& selection) {
  return dump({{"backend", selection.backend}, {"choice", selection.choice}});
}

Selection parse_selection(std::string_view text) {
  const nlohmann::json json = control::parse_object(text, "choice");
  return {.backend = control::get_string(json, "backend", kMaxName),
          .choice = control::get_string(json, "choice", kMaxOffer)};
}

std::string to_text(const Introduction& introduction) {
  Json environment = Json::array();
  for (const report::Fact& fact : introduction.environment) {
    const Json value = std::visit([](const auto& v) { return Json(v); }, fact.value);
    environment.push_back({{"name", fact.name}, {"value", value}});
  }
  return dump({{"address", introduction.address}, {"environment", environment}});
}

Introduction parse_introduction(std::string_view text) {
  const nlohmann::json json = control::parse_object(text, "address");
  Introduction introduction;
  introduction.address = control::get_string(json, "address", kMaxOffer);
  for (const nlohmann::json& item : control::get_list(json, "environment", kMaxFacts)) {
    report::Fact fact{.name = control::get_string(item, "name", kMaxName), .value = ""};
    const auto value = item.find("value");
    if (value == item.end()) continue;
    if (value->is_boolean()) {
      fact.value = value->get<bool>();
    } else if (value->is_number_unsigned()) {
      fact.value = value->get<std::uint64_t>();
    } else if (value->is_number()) {
      fact.value = value->get<double>();
    } else {
      fact.value = control::get_string(item, "value", kMaxOffer);
    }
    introduction.environment.push_back(std::move(fact));
  }
  return introduction;
}

std::string to_text(const EpochOrder& order) {
  return dump({{"size_bytes", order.size}, {"iterations", order.iterations}});
}

EpochOrder parse_epoch_order(std::string_view text, const SessionSpec& spec) {
  const nlohmann::json json = control::parse_object(text, "epoch");
  return {.size = control::get_uint(json, "size_bytes", 1, spec.max_size),
          .iterations = control::get_uint(json, "iterations", 1, kMaxEpoch)};
}

}  // namespace rdmabench::run
