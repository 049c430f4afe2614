#include "fields.h"

#include <algorithm>
#include <iterator>

namespace rdmabench::tools {
namespace {

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
                                 {"rails", "--rails"},
                                 {"registration", "--register"},
                                 {"requirements", "--require"},
                                 {"segments", "--sge"},
                                 {"service", "--transport"},
                                 {"shared_receives", "--srq"},
                                 {"sizes", "--size"},
                                 {"timeout_s", "--timeout"},
                                 {"variation", "--cv"},
                                 {"workers", "--threads"}};

/// Those whose flag is "--" and their name, with '-' for '_'.
constexpr std::string_view kAlike[] = {"a_name",      "algorithm",  "allow",
                                       "auth",        "b_name",     "backend",
                                       "batch",       "budget",     "clients",
                                       "curve",       "depth",      "events",
                                       "extrapolate", "fabric",     "factor",
                                       "gid_index",   "gpu",        "gpu_mapping",
                                       "insecure",    "iterations", "job",
                                       "memory",      "mpi",        "mtu",
                                       "nodes",       "numa",       "output",
                                       "parallel",    "pattern",    "peer_memory",
                                       "peers",       "port",       "post_list",
                                       "precision",   "price_a",    "price_b",
                                       "provider",    "receives",   "relaxed_ordering",
                                       "resume",      "root",       "signal_every",
                                       "skip_failed", "steps",      "store",
                                       "stragglers",  "stride",     "target_idle",
                                       "timeout",     "token_file", "tokens_total",
                                       "transport",   "validate",   "working_set"};

/// "" if there is none.
std::string flag_of(std::string_view field, std::span<const FieldFlag> own) {
  for (const std::span<const FieldFlag> flags : {own, std::span<const FieldFlag>(kNative)}) {
    const auto found = std::find_if(flags.begin(), flags.end(),
                                    [&](const FieldFlag& flag) { return flag.first == field; });
    if (found != flags.end()) return std::string(found->second);
  }
  if (std::find(std::begin(kAlike), std::end(kAlike), field) == std::end(kAlike)) return "";
  std::string flag = "--" + std::string(field);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace

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
