// Readers of JSON that trust nothing: another type than the one asked for reads as nothing.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rdmabench::inline v1 {

/// Behind a byte order mark too.
bool begins_as_json(std::string_view text) noexcept;

std::string text_of(const nlohmann::ordered_json& object, std::string_view key);
/// Any value as text: "" for null, 12 as "12", a list as its items separated by "; ".
std::string any_text(const nlohmann::ordered_json& value);
std::string any_text_of(const nlohmann::ordered_json& object, std::string_view key);
/// NaN where there is none.
double number_of(const nlohmann::ordered_json& object, std::string_view key);
/// A number as people write it, "16" and not "16.0"; any other value as any_text_of().
std::string number_text(const nlohmann::ordered_json& object, std::string_view key);
bool flag_of(const nlohmann::ordered_json& object, std::string_view key);
/// An empty list where there is none.
const nlohmann::ordered_json& list_of(const nlohmann::ordered_json& object, std::string_view key);
/// An empty object where there is none.
const nlohmann::ordered_json& object_of(const nlohmann::ordered_json& object, std::string_view key);

}  // namespace rdmabench::inline v1
