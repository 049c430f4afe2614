// Limits of the doctor's process: run it inside the job, where they may differ.
#include <array>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;
constexpr std::uint64_t kUnlimited = ~0ULL;

struct Limit {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

/// A line of /proc/self/limits; none, with a verdict, if it cannot be read.
std::optional<Limit> limit_of(Probe& probe, std::string_view name) {
  const auto text = probe.text("proc/self/limits");
  if (!text) return std::nullopt;
  const std::vector<std::string> words = words_of(value_after(*text, name));
  const auto value = [](const std::string& word) -> std::optional<std::uint64_t> {
    return word == "unlimited" ? std::optional(kUnlimited) : to_number(word);
  };
  if (words.size() >= 2 && value(words[0]) && value(words[1])) {
    return Limit{*value(words[0]), *value(words[1])};
  }
  probe.error(fmt::format("proc/self/limits has no '{}'", name));
  return std::nullopt;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes == kUnlimited) return "unlimited";
  if (bytes >= kGiB)
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
  return fmt::format("{} KiB", bytes / 1024);
}

/// CAP_IPC_LOCK lifts the limit, in the first user namespace alone: the kernel asks that one.
/// Source: capabilities(7); user_namespaces(7), uid_map; Linux drivers/infiniband/core/umem.c.
bool may_lock_anything(Probe& probe) {
  const auto set = hex_number(value_after(probe.try_text("proc/self/status"), "CapEff"));
  if (!set || (*set >> 14 & 1U) == 0) return false;
  const std::vector<std::string> words = words_of(probe.try_text("proc/self/uid_map"));
  return words.empty() ||
         (words.size() == 3 && words[0] == "0" && words[1] == "0" && words[2] == "4294967295");
}

void memlock(Probe& probe) {
  const auto limit = limit_of(probe, "Max locked memory");
  if (!limit) return;
  const std::uint64_t bytes = limit->soft;
  std::uint64_t wanted = 16 * kGiB;
  Source source = Source::standard;
  if (const Expectation* const own = probe.expectation("memlock_bytes")) {
    wanted = to_number(own->value).value_or(wanted);
    source = own->source;
  }
  probe.observe(size_text(bytes));
  probe.expect("unlimited, or at least " + size_text(wanted), source);
  if (bytes >= wanted) return probe.pass();
  if (may_lock_anything(probe)) {
    probe.observe(size_text(bytes) +
                  ", which CAP_IPC_LOCK lifts for this process; a job without it has that limit");
    return probe.warn();
  }
  // Less than a gigabyte is too little for one registration of a usual size.
  const bool useless = bytes < kGiB && !probe.node().devices.empty();
  probe.judge_by(false, useless ? Status::fail : Status::warn);
}

/// Programs raise the soft limit, as NCCL does (src/os/linux.cc).
void open_files(Probe& probe) {
  const auto limit = limit_of(probe, "Max open files");
  if (!limit) return;
  constexpr std::uint64_t kWanted = 4096;
  probe.judge_by(limit->hard >= kWanted, Status::warn,
                 limit->hard == kUnlimited ? "unlimited" : std::to_string(limit->hard),
                 fmt::format("at least {}", kWanted), Source::standard);
}

void shared_memory(Probe& probe) {
  const auto facts = probe.text("rdmabench/statvfs");
  if (!facts)
    return probe.skip("/dev/shm was not read: this is a saved tree without facts", Skipped::unread);
  const std::vector<std::string> words = words_of(value_after(*facts, "/dev/shm"));
  const auto size = to_number(words.empty() ? std::string_view() : words[0]);
  probe.expect("at least " + size_text(8 * kGiB), Source::standard);
  if (!size) return probe.skip("there is no /dev/shm");
  probe.observe(size_text(*size));
  probe.judge_by(*size >= 8 * kGiB, Status::warn);
}

void ports(Probe& probe) {
  const auto text = probe.line("proc/sys/net/ipv4/ip_local_port_range");
  if (!text) return;
  const std::vector<std::string> words = words_of(*text);
  const auto low = to_number(words.size() == 2 ? words[0] : std::string_view());
  const auto high = to_number(words.size() == 2 ? words[1] : std::string_view());
  if (!low || !high || *high < *low) return probe.error(fmt::format("invalid range '{}'", *text));
  constexpr std::uint64_t kWanted = 20000;
  probe.judge_by(*high - *low + 1 >= kWanted, Status::warn,
                 fmt::format("{} ports, {} to {}", *high - *low + 1, *low, *high),
                 fmt::format("at least {}", kWanted), Source::standard);
}

void at_least(Probe& probe, const std::string& path, std::uint64_t wanted) {
  const auto value = probe.number(path);
  if (!value) return;
  probe.judge_by(*value >= wanted, Status::warn, std::to_string(*value),
                 fmt::format("at least {}", wanted), Source::standard);
}

constexpr auto kLimitRows = std::to_array<Check>({
    {{.id = "limit.memlock",
      .title = "Locked memory, soft limit",
      .reads = "proc/self/{limits,status,uid_map}",
      .rule =
          "WARN below 16 GiB or what is expected, FAIL below 1 GiB with an RDMA device, but only WARN where CAP_IPC_LOCK lifts it",
      .remedy =
          "memlock unlimited in /etc/security/limits.d, and LimitMEMLOCK=infinity for slurmd or the container's runtime.",
      .source = "setrlimit(2); capabilities(7); user_namespaces(7); Linux infiniband/core/umem.c"},
     memlock},
    {{.id = "limit.open_files",
      .title = "Open files, hard limit",
      .reads = "proc/self/limits",
      .rule = "WARN below 4096",
      .remedy =
          "nofile in /etc/security/limits.d, and LimitNOFILE for slurmd or the container's runtime.",
      .source = "setrlimit(2); NCCL src/os/linux.cc"},
     open_files},
    {{.id = "limit.shared_memory",
      .title = "Shared memory",
      .reads = "statvfs of /dev/shm",
      .rule = "WARN below 8 GiB",
      .remedy = "mount -o remount,size=50% /dev/shm; start a container with --shm-size.",
      .source = "NCCL user guide, Troubleshooting, Shared Memory"},
     shared_memory},
    {{.id = "limit.ports",
      .title = "Local ports",
      .reads = "proc/sys/net/ipv4/ip_local_port_range",
      .rule = "WARN with fewer than 20000",
      .remedy = "sysctl -w net.ipv4.ip_local_port_range='32768 60999'.",
      .source = "Linux networking/ip-sysctl",
      .compares = true},
     ports},
    {{.id = "limit.backlog",
      .title = "Connections that wait to be accepted",
      .reads = "proc/sys/net/core/somaxconn",
      .rule = "WARN below 1024",
      .remedy = "sysctl -w net.core.somaxconn=4096: every rank connects to the first at once.",
      .source = "NCCL src/bootstrap.cc; listen(2)",
      .compares = true},
     [](Probe& probe) { at_least(probe, "proc/sys/net/core/somaxconn", 1024); }},
});

}  // namespace

constinit const std::span<const Check> kLimitChecks = kLimitRows;

}  // namespace rdmabench::inline v1::health
