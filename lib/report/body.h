// The JSON of a document, which installed headers do not name.
#pragma once

#include <nlohmann/json.hpp>

#include "rdmabench/report/documents.h"

namespace rdmabench::inline v1::report {

struct Body::Value {
  nlohmann::ordered_json json{};
};

Body body_of(nlohmann::ordered_json json);

/// Valid as long as the document. Of a document that was moved from there is none.
nlohmann::ordered_json& json_of(Document& document) noexcept;
const nlohmann::ordered_json& json_of(const Document& document) noexcept;

}  // namespace rdmabench::inline v1::report
