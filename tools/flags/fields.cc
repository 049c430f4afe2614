#include "fields.h"

#include <algorithm>

namespace rdmabench::tools {
namespace {

constexpr FieldFlag kNative[] = {{"a_name", "--a-name"},
                                 {"algorithm", "--algorithm"},
                                 {"allow", "--allow"},
                                 {"auth", "--auth"},
                                 {"b_name", "--b-name"},
                                 {"backend", "--backend"},
                                 {"bandwidth_sizes", "--size"},
                                 {"clients", "--clients"},
                                 {"connection_manager", "--rdma-cm"},
                                 {"cpus", "--cpu"},
                                 {"curve", "--curve"},
                                 {"depth", "--depth"},
                                 {"devices", "--device"},
                                 {"duration_s", "--duration"},
                                 {"events", "--events"},
                                 {"extrapolate", "--extrapolate"},
                                 {"fabric", "--fabric"},
                                 {"factor", "--factor"},
                                 {"gid_index", "--gid-index"},
                                 {"gpu", "--gpu"},
                                 {"gpu_mapping", "--gpu-mapping"},
                                 {"inline_limit", "--inline"},
                                 {"insecure", "--insecure"},
                                 {"iterations", "--iterations"},
                                 {"job", "--job"},
                                 {"latency_sizes", "--latency-size"},
                                 {"memory", "--memory"},
                                 {"misalignment", "--misalign"},
                                 {"mpi", "--mpi"},
                                 {"mtu", "--mtu"},
                                 {"nodes", "--nodes"},
                                 {"numa", "--numa"},
                                 {"on_demand", "--odp"},
                                 {"region_per_queue_pair", "--mr-per-qp"},
                                 {"operation", "--op"},
                                 {"output", "--output"},
                                 {"outstanding_reads", "--outstanding"},
                                 {"parallel", "--parallel"},
                                 {"parameters", "--params"},
                                 {"pattern", "--pattern"},
                                 {"peer_memory", "--peer-memory"},
                                 {"peers", "--peers"},
                                 {"port", "--port"},
                                 {"post_list", "--post-list"},
                                 {"price_a", "--price-a"},
                                 {"price_b", "--price-b"},
                                 {"provider", "--provider"},
                                 {"queue_pairs", "--qps"},
                                 {"receives", "--receives"},
                                 {"registration", "--register"},
                                 {"relaxed_ordering", "--relaxed-ordering"},
                                 {"requirements", "--require"},
                                 {"resume", "--resume"},
                                 {"segments", "--sge"},
                                 {"service", "--transport"},
                                 {"shared_receives", "--srq"},
                                 {"signal_every", "--signal-every"},
                                 {"sizes", "--size"},
                                 {"skip_failed", "--skip-failed"},
                                 {"steps", "--steps"},
                                 {"store", "--store"},
                                 {"stragglers", "--stragglers"},
                                 {"stride", "--stride"},
                                 {"target_idle", "--target-idle"},
                                 {"timeout", "--timeout"},
                                 {"timeout_s", "--timeout"},
                                 {"token_file", "--token-file"},
                                 {"tokens_total", "--tokens-total"},
                                 {"transport", "--transport"},
                                 {"validate", "--validate"},
                                 {"variation", "--cv"},
                                 {"workers", "--threads"},
                                 {"working_set", "--working-set"}};

std::string_view flag_of(std::string_view field, std::span<const FieldFlag> flags) {
  const auto found = std::find_if(flags.begin(), flags.end(),
                                  [&](const FieldFlag& flag) { return flag.first == field; });
  return found == flags.end() ? "" : found->second;
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
    std::string_view flag = flag_of(field, own);
    if (flag.empty()) flag = flag_of(field, kNative);
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
