#include "fields.h"

#include <algorithm>

#include "run/options.h"

namespace rdmabench::inline v1::tools {
namespace {

/// Of commands that measure by other options than a run::Config's.
const FieldFlag kOthers[] = {{"bandwidth_sizes", "--size"},
                             {"parameters", "--params"},
                             {"registration", "--register"},
                             {"variation", "--cv"}};

std::set<std::string>& known_flags() {
  static std::set<std::string> flags;
  return flags;
}

/// "" if there is none.
std::string flag_of(std::string_view field, std::span<const FieldFlag> own) {
  for (const std::span<const FieldFlag> flags : {own, std::span<const FieldFlag>(kOthers)}) {
    const auto found = std::find_if(flags.begin(), flags.end(),
                                    [&](const FieldFlag& flag) { return flag.first == field; });
    if (found != flags.end()) return found->second;
  }
  const run::Option* const option = run::find_option(field);
  if (option != nullptr && !option->flag.empty()) return std::string(option->long_flag());
  std::string flag = "--" + std::string(field);
  std::replace(flag.begin(), flag.end(), '_', '-');
  // A flag has neither the plural nor the unit: --cpu of `cpus`, --duration of `duration_s`.
  for (const std::string_view end : {"", "s", "-s"}) {
    if (!flag.ends_with(end)) continue;
    const std::string shorter = flag.substr(0, flag.size() - end.size());
    if (known_flags().contains(shorter)) return shorter;
  }
  return "";
}

}  // namespace

void know_flags(std::set<std::string> flags) {
  known_flags() = std::move(flags);
}

std::string with_flags(std::string_view text, std::span<const FieldFlag> own) {
  std::string out;
  for (;;) {
    const std::size_t begin = text.find('`');
    const std::size_t end =
        begin == std::string_view::npos ? std::string_view::npos : text.find('`', begin + 1);
    if (end == std::string_view::npos) return out.append(text);
    const std::string_view field = text.substr(begin + 1, end - begin - 1);
    const std::string flag = flag_of(field, own);
    out.append(text.substr(0, begin))
        .append(flag.empty() ? text.substr(begin, end + 1 - begin) : flag);
    text.remove_prefix(end + 1);
  }
}

void name_flags(report::Report& report) {
  for (report::Suspicion& suspicion : report.suspicions) {
    suspicion.text = with_flags(suspicion.text);
    suspicion.remedy = with_flags(suspicion.remedy);
  }
}

}  // namespace rdmabench::inline v1::tools
