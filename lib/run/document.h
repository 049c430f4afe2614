// The document of what registration costs, before it is text.
#pragma once

#include <nlohmann/json.hpp>

#include "run/registration_cost.h"

namespace rdmabench::inline v1::run {

nlohmann::ordered_json to_document(const RegistrationReport& measured);

}  // namespace rdmabench::inline v1::run
