// Percentages and large numbers, as people type them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::tools {

/// "8B", "8.03B", "989T", "4k", "1e9": by powers of 1000; B and G are both 10^9. None for another
/// text.
std::optional<double> quantity_of(std::string_view text);

// Each throws Error(usage) that names the text and the nearest right form.

/// "5%" or "0.5%" -> 0.05 or 0.005. The sign must be there: 5 and 0.05 are too easily mistaken.
double parse_percent(const std::string& text);

/// As quantity_of().
double parse_quantity(const std::string& text);

/// "8,16,64" as written, or "2:1024" for every doubling, the last included. Rising.
std::vector<double> parse_quantities(const std::string& text);

}  // namespace rdmabench::tools
