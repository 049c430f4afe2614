// JSON of this room's types: in messages between coordinator and agents, and in files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/walk.h"
#include "rdmabench/fabric/matrix.h"
#include "report/fabric_document.h"
#include "results/row.h"

namespace rdmabench::inline v1::fabric {

using report::Json;

using report::kMaxNotes;
using report::kMaxText;
using report::kMaxWord;
inline constexpr std::size_t kMaxFacts = 256;

// Reading throws Error(failed) that names the field, its value and its bounds, and for a plan as
// its check() does.
void walk(MessageFields& fields, FabricPlan& plan);
void walk(MessageFields& fields, Node& node);
void walk(MessageFields& fields, LostNode& lost);
void walk(MessageFields& fields, DeviceBytes& one);
void walk(MessageFields& fields, std::vector<DeviceBytes>& devices);
void walk_words(MessageFields& fields, const char* key, std::vector<std::string>& words);
void walk_environment(MessageFields& fields, report::Facts& environment);

}  // namespace rdmabench::inline v1::fabric
