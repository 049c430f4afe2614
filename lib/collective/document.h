// The document of a run of collectives, before it is text.
#pragma once

#include <nlohmann/json.hpp>

#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {

nlohmann::ordered_json to_document(const Run& run);

}  // namespace rdmabench::inline v1::collective
