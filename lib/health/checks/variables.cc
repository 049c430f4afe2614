#include "variables.h"

#include <algorithm>

#include "base/number.h"

namespace rdmabench::inline v1::health {
namespace {

/// "mlx5_[0-3]:1" has four names.
std::vector<std::string> expanded(const std::string& word) {
  constexpr std::uint64_t kMost = 256;
  const std::size_t begin = word.find('[');
  const std::size_t end = word.find(']', begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos || end == std::string::npos) return {word};
  std::vector<std::string> words;
  for_each_range(
      word.substr(begin + 1, end - begin - 1), [&](std::uint64_t low, std::uint64_t high) {
        for (std::uint64_t i = low; i <= high && words.size() < kMost; ++i) {
          words.push_back(word.substr(0, begin) + std::to_string(i) + word.substr(end + 1));
        }
      });
  return words.empty() ? std::vector<std::string>{word} : words;
}

}  // namespace

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  for (const std::string_view one : split(list, ',')) {
    if (!trimmed(one).empty()) parts.emplace_back(trimmed(one));
  }
  return parts;
}

NcclList::NcclList(std::string_view text) {
  without = text.starts_with('^');
  if (without) text.remove_prefix(1);
  exact = text.starts_with('=');
  if (exact) text.remove_prefix(1);
  for (const std::string_view part : split(text, ',')) {
    const std::vector<std::string_view> words = split(part, ':');
    if (words[0].empty()) continue;
    items.push_back({std::string(words[0]), words.size() < 2 ? "" : std::string(words[1])});
  }
}

bool NcclList::is(const Item& item, std::string_view name, std::string_view port) const {
  return (exact ? name == item.name : name.starts_with(item.name)) &&
         (item.port.empty() || port.empty() || item.port == port);
}

bool NcclList::takes(std::string_view name, std::string_view port) const {
  const bool found =
      items.empty() || std::any_of(items.begin(), items.end(),
                                   [&](const Item& item) { return is(item, name, port); });
  return found != without;
}

UcxList::UcxList(std::string_view text) : without(text.starts_with('^')) {
  if (without) text.remove_prefix(1);
  for (const std::string& part : parts_of(text)) {
    for (std::string& one : expanded(part)) names.push_back(std::move(one));
  }
}

bool UcxList::has(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool UcxList::takes(const RdmaPort& port) const {
  return (has("all") || has(port.name) || has(port.device->name)) != without;
}

}  // namespace rdmabench::inline v1::health
