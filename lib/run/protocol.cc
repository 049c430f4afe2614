#include "run/protocol.h"

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "run/facts_fields.h"
#include "spec_fields.h"

namespace rdmabench::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxOffer = 262144;  // bytes of an offer: a host may have many GIDs
constexpr std::size_t kMaxOffers = 16;     // back ends
constexpr std::size_t kMaxFacts = 1024;

Json offers_json(const std::vector<Offer>& offers) {
  Json list = Json::array();
  for (const Offer& offer : offers) {
    list.push_back({{"backend", offer.backend}, {"offer", offer.text}, {"error", offer.error}});
  }
  return list;
}

std::vector<Offer> offers_from(const nlohmann::json& message) {
  std::vector<Offer> offers;
  for (const nlohmann::json& item : get_list(message, "offers", kMaxOffers)) {
    offers.push_back({.backend = get_string(item, "backend", kMaxName),
                      .text = get_string(item, "offer", kMaxOffer),
                      .error = get_string(item, "error", kMaxOffer)});
  }
  return offers;
}

report::Facts facts_from(const nlohmann::json& message, const char* key) {
  return run::facts_from(message, key, kMaxFacts, kMaxName, kMaxOffer);
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back({{"text", text}});
  return list;
}

std::vector<std::string> texts_from(const nlohmann::json& message, const char* key) {
  std::vector<std::string> texts;
  for (const nlohmann::json& item : get_list(message, key, kMaxWorkers)) {
    texts.push_back(get_string(item, "text", kMaxOffer));
  }
  return texts;
}

}  // namespace

std::string to_text(const Request& request) {
  const SessionSpec& spec = request.spec;
  Json json{{"timeout_ms", spec.timeout.count()}};
  FieldWriter fields(json);
  walk(fields, spec);
  Json rails = Json::array();
  for (const std::vector<Offer>& offers : request.rails) {
    rails.push_back({{"offers", offers_json(offers)}});
  }
  json["rails"] = std::move(rails);
  return dump(json);
}

Request parse_request(std::string_view text) {
  const nlohmann::json json = parse_object(text, "request");
  Request request;
  SessionSpec& spec = request.spec;
  spec.timeout = std::chrono::milliseconds(get_uint(json, "timeout_ms", 100, 600000));
  FieldReader fields(json);
  walk(fields, spec);
  for (const nlohmann::json& rail : get_list(json, "rails", kMaxWorkers)) {
    request.rails.push_back(offers_from(rail));
  }
  if (request.rails.empty()) throw Error(Fault::failed, "the client's request has no offers");
  check(spec);
  return request;
}

std::string to_text(const std::vector<Offer>& offers) {
  return dump({{"offers", offers_json(offers)}});
}

std::vector<Offer> parse_offers(std::string_view text) {
  return offers_from(parse_object(text, "offer"));
}

std::string to_text(const Selection& selection) {
  return dump({{"backend", selection.backend}, {"choices", texts_json(selection.choices)}});
}

Selection parse_selection(std::string_view text) {
  const nlohmann::json json = parse_object(text, "choice");
  return {.backend = get_string(json, "backend", kMaxName), .choices = texts_from(json, "choices")};
}

constexpr std::array<std::string_view, 3> kMemoryPaths{"host", "direct", "staged"};

std::string to_text(const Introduction& introduction) {
  return dump({{"addresses", texts_json(introduction.addresses)},
               {"environment", report::to_list(introduction.environment)},
               {"memory", kMemoryPaths[static_cast<std::size_t>(introduction.memory)]}});
}

Introduction parse_introduction(std::string_view text) {
  const nlohmann::json json = parse_object(text, "address");
  Introduction introduction{.addresses = texts_from(json, "addresses"),
                            .environment = facts_from(json, "environment")};
  FieldReader(json).name("memory", kMemoryPaths, introduction.memory);
  return introduction;
}

std::string to_text(const EpochOrder& order) {
  return dump({{"size_bytes", order.size},
               {"iterations", order.iterations},
               {"messages_per_s", order.rate},
               {"verify", order.verify}});
}

EpochOrder parse_epoch_order(std::string_view text, const SessionSpec& spec) {
  const nlohmann::json json = parse_object(text, "epoch");
  return {.size = get_uint(json, "size_bytes", 1, spec.max_size),
          .iterations = get_uint(json, "iterations", 1, kMaxEpoch),
          .rate = get_double(json, "messages_per_s", 0, kMaxRate),
          .verify = get_bool(json, "verify")};
}

std::string to_text(const EpochReport& report) {
  return dump({{"arrived", report.arrived},
               {"succeeded", report.succeeded},
               {"outcome", static_cast<unsigned>(report.outcome)}});
}

EpochReport parse_epoch_report(std::string_view text) {
  constexpr std::uint64_t kMost = kMaxEpoch * kMaxWorkers;
  const nlohmann::json json = parse_object(text, "result");
  return {.arrived = get_uint(json, "arrived", 0, kMost),
          .succeeded = get_uint(json, "succeeded", 0, kMost),
          .outcome = static_cast<workload::Outcome>(
              get_uint(json, "outcome", 0, static_cast<unsigned>(workload::kLastOutcome)))};
}

std::string to_text(const Farewell& farewell) {
  return dump({{"facts", report::to_list(farewell.facts)}});
}

Farewell parse_farewell(std::string_view text) {
  return {.facts = facts_from(parse_object(text, "bye"), "facts")};
}

}  // namespace rdmabench::run
