// What other tools printed, as documents of our own.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1::report {

/// Its runs as documents of rdmabench/1 or rdmabench-coll/1. What it does not say is null, never
/// guessed. `program` is that of parse_documents(). Throws Error(usage) with `source` and the line.
std::vector<nlohmann::ordered_json> imported_documents(std::string_view text,
                                                       const std::string& source,
                                                       const std::string& program);

}  // namespace rdmabench::inline v1::report
