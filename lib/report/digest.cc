#include "digest.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace rdmabench::inline v1::report {

void add_label(Measured& measured, std::string_view key, std::string value) {
  if (!value.empty()) measured.labels.emplace_back(key, std::move(value));
}

void add_labels(Measured& measured, const Json& object,
                std::string (*read)(const Json&, std::string_view), Keys keys) {
  for (const std::string_view key : keys) add_label(measured, key, read(object, key));
}

void add_values(Measured& measured, const Json& object, Keys keys) {
  for (const std::string_view key : keys) {
    const double value = number_of(object, key);
    if (std::isfinite(value)) measured.values.emplace_back(key, value);
  }
}

void add_row(Measured& measured, const Json& row, Keys labels) {
  add_labels(measured, row, any_text_of, labels);
  for (const auto& [key, value] : row.items()) {
    if (std::find(labels.begin(), labels.end(), key) != labels.end()) continue;
    if (value.is_number()) measured.values.emplace_back(key, value.get<double>());
    if (value.is_boolean()) measured.values.emplace_back(key, value.get<bool>() ? 1 : 0);
  }
}

std::ptrdiff_t place_of(Status status) noexcept {
  return std::find(kWorstFirst.begin(), kWorstFirst.end(), status) - kWorstFirst.begin();
}

std::string word(Status status) {
  return lower(name(status));
}

void Judgement::add_details(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (std::string one = any_text_of(object, key); !one.empty()) details.emplace_back(key, one);
  }
}

std::string fact_of(const Json& facts, std::string_view name) {
  if (facts.is_object()) return any_text_of(facts, name);
  for (const Json& fact : facts) {
    if (text_of(fact, "name") == name) return any_text_of(fact, "value");
  }
  return "";
}

bool is_own_fact(std::string_view name) noexcept {
  return name == "hostname" || name == "collected_utc";
}

}  // namespace rdmabench::inline v1::report
