// Tables that give a mean for each size: those of OSU's micro-benchmarks and of fabtests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::report {

bool is_mean_table(std::string_view text) noexcept;

/// A document for each table. `program` is what printed it, where the text does not say:
/// "fi_rma_bw";
/// "": what the file's name begins with. Throws Error(usage) with `source` and the line.
std::vector<nlohmann::ordered_json> mean_table_documents(std::string_view text,
                                                         const std::string& source,
                                                         const std::string& program);

}  // namespace rdmabench::report
