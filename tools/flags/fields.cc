#include "fields.h"

#include <algorithm>

namespace rdmabench::tools {
namespace {

/// Those that are not named as their flag.
constexpr FieldFlag kNative[] = {{"allow_providers", "--allow-provider"},
                                 {"bandwidth_sizes", "--size"},
                                 {"connection_manager", "--rdma-cm"},
                                 {"cpus", "--cpu"},
                                 {"devices", "--device"},
                                 {"duration_s", "--duration"},
                                 {"inline_limit", "--inline"},
                                 {"latency_sizes", "--latency-size"},
                                 {"misalignment", "--misalign"},
                                 {"on_demand", "--odp"},
                                 {"region_per_queue_pair", "--mr-per-qp"},
                                 {"operation", "--op"},
                                 {"outstanding_reads", "--outstanding"},
                                 {"parameters", "--params"},
                                 {"queue_pairs", "--qps"},
                                 {"registration", "--register"},
                                 {"requirements", "--require"},
                                 {"segments", "--sge"},
                                 {"service", "--transport"},
                                 {"shared_receives", "--srq"},
                                 {"sizes", "--size"},
                                 {"timeout_s", "--timeout"},
                                 {"variation", "--cv"},
                                 {"workers", "--threads"}};

std::set<std::string>& known_flags() {
  static std::set<std::string> flags;
  return flags;
}

/// "" if there is none.
std::string flag_of(std::string_view field, std::span<const FieldFlag> own) {
  for (const std::span<const FieldFlag> flags : {own, std::span<const FieldFlag>(kNative)}) {
    const auto found = std::find_if(flags.begin(), flags.end(),
                                    [&](const FieldFlag& flag) { return flag.first == field; });
    if (found != flags.end()) return std::string(found->second);
  }
  std::string flag = "--" + std::string(field);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return known_flags().contains(flag) ? flag : "";
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

}  // namespace rdmabench::tools
