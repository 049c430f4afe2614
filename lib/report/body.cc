#include "body.h"

#include <utility>

#include "results/row.h"

namespace rdmabench::inline v1::report {

Body::Body() : value_(std::make_unique<Value>()) {}
Body::Body(std::unique_ptr<Value> value) noexcept : value_(std::move(value)) {}
Body::Body(const Body& other) : value_(std::make_unique<Value>(*other.value_)) {}
Body::Body(Body&& other) noexcept = default;
Body::~Body() = default;

Body& Body::operator=(const Body& other) {
  return *this = Body(other);
}
Body& Body::operator=(Body&& other) noexcept = default;

Body body_of(nlohmann::ordered_json json) {
  return Body(std::make_unique<Body::Value>(Body::Value{std::move(json)}));
}

nlohmann::ordered_json& json_of(Document& document) noexcept {
  return document.body.value().json;
}
const nlohmann::ordered_json& json_of(const Document& document) noexcept {
  return document.body.value().json;
}

Document to_document(const Report& report) {
  return {"the result", std::string(kRunSchema), body_of(document_body(report))};
}

std::string to_json(const Document& document) {
  return document_text(json_of(document));
}

}  // namespace rdmabench::inline v1::report
