// JSON of this room's types: in messages between coordinator and agents, and in files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "rdmabench/fabric/matrix.h"
#include "report/row.h"

namespace rdmabench::fabric {

using report::Json;

inline constexpr std::size_t kMaxText = 1000;  ///< bytes of an error or a note of a measurement
inline constexpr std::size_t kMaxNotes = 16;
inline constexpr std::size_t kMaxWord = 256;  ///< bytes of a name
inline constexpr std::size_t kMaxFacts = 256;

Json to_json(const FabricPlan& plan);
Json to_json(const Node& node);

/// Without round and sender, which both sides of a message know.
Json cell_json(const Measurement& measurement);

Json to_json(const std::vector<DeviceBytes>& devices);

// Each throws Error(failed) that names the field, its value and its bounds, or Error(usage) where
// check() of a plan does.
report::Facts facts_from(const nlohmann::json& object, const char* key);
FabricPlan plan_from(const nlohmann::json& object);
Node node_from(const nlohmann::json& object);
std::vector<std::string> words_from(const nlohmann::json& object, const char* key,
                                    std::size_t max_count, std::size_t max_bytes);
/// Any rank below kMaxNodes, any rail below kMaxRails.
Measurement cell_from(const nlohmann::json& object);
DeviceBytes device_bytes_from(const nlohmann::json& object);

}  // namespace rdmabench::fabric
