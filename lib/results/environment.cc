#include "rdmabench/results/result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "rdmabench/features.h"
#include "results/not_rdma.h"

namespace rdmabench::inline v1::report {
namespace {

namespace fs = std::filesystem;

/// How many the kernel's list names: "0-3,8" are 5.
std::optional<std::uint64_t> list_length(std::string_view list) {
  const std::uint64_t length = list_count(list);
  return length == 0 ? std::nullopt : std::optional(length);
}

/// The governor of all CPUs; more than one are separated by commas.
std::string governors(const fs::path& root) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator cpu(root / "sys/devices/system/cpu", error), end;
       !error && cpu != end; cpu.increment(error)) {
    const std::string name = first_line(cpu->path() / "cpufreq/scaling_governor");
    if (!name.empty()) names.insert(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Collects those facts that have a value.
class Collector {
 public:
  void add(std::string name, const std::string& text) {
    if (!text.empty()) facts_.push_back({std::move(name), text});
  }
  void add(std::string name, std::optional<std::uint64_t> count) {
    if (count) facts_.push_back({std::move(name), *count});
  }
  void add_bool(std::string name, bool value) { facts_.push_back({std::move(name), value}); }
  /// The kernel's "1" or "0".
  void add_switch(std::string name, const std::string& text, const std::string& on = "1") {
    if (!text.empty()) add_bool(std::move(name), text == on);
  }
  Facts take() { return std::move(facts_); }

 private:
  Facts facts_;
};

void add_cpu(Collector& facts, const fs::path& root) {
  const fs::path system = root / "sys/devices/system";
  const std::string first_cpu = read_file(root / "proc/cpuinfo").text;
  facts.add("cpu_model", value_after(first_cpu, "model name"));
  facts.add("cpus_online", list_length(first_line(system / "cpu/online")));
  facts.add("numa_nodes", list_length(first_line(system / "node/online")));
  facts.add_switch("smt_active", first_line(system / "cpu/smt/active"));
  facts.add("cpu_governor", governors(root));
  const std::string no_turbo = first_line(system / "cpu/intel_pstate/no_turbo");
  facts.add_switch("turbo_enabled", no_turbo, "0");
  if (no_turbo.empty()) {
    facts.add_switch("turbo_enabled", first_line(system / "cpu/cpufreq/boost"));
  }
  const std::string flags = value_after(first_cpu, "flags");
  if (!flags.empty()) {
    facts.add_bool("hypervisor", (" " + flags + " ").find(" hypervisor ") != std::string::npos);
  }
  facts.add("clocksource", first_line(system / "clocksource/clocksource0/current_clocksource"));
}

/// The soft limit, the first of the columns of /proc/self/limits.
void add_memlock(Collector& facts, const fs::path& root) {
  const std::string columns =
      value_after(read_file(root / "proc/self/limits").text, "Max locked memory");
  const std::string soft = columns.substr(0, columns.find(' '));
  if (const auto bytes = parse_number<std::uint64_t>(soft)) {
    facts.add("memlock_limit_bytes", bytes);
  } else {
    facts.add("memlock_limit_bytes", soft);
  }
}

/// With milliseconds, by which launches within a second have an order.
std::string utc_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{}.{:03}Z", utc_text(now.tv_sec, "%Y-%m-%dT%H:%M:%S"),
                     now.tv_nsec / 1'000'000);
}

constexpr const char* kCompiler =
#if defined(__clang__)
    "clang " __clang_version__;
#else
    "GCC " __VERSION__;
#endif

}  // namespace

std::optional<std::uint64_t> count_rdma_devices(const std::string& root) {
  const fs::path classes = fs::path(root) / "sys/class";
  int error = 0;
  if (list_folder(classes, error).empty()) return std::nullopt;
  return list_folder(classes / "infiniband", error).size() +
         list_folder(classes / "cxi", error).size();
}

Facts collect_environment(const std::string& root_name) {
  const fs::path root(root_name);
  Collector facts;
  facts.add("hostname", first_line(root / "proc/sys/kernel/hostname"));
  std::string os = value_after(read_file(root / "etc/os-release").text, "PRETTY_NAME");
  std::erase(os, '"');
  facts.add("os", os);
  facts.add("kernel", first_line(root / "proc/sys/kernel/osrelease"));
  add_cpu(facts, root);
  facts.add("transparent_huge_pages",
            chosen_word(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled")));
  add_memlock(facts, root);
  facts.add("rdma_devices", count_rdma_devices(root_name));
  facts.add("rdmabench_version", RDMABENCH_VERSION);
  facts.add("compiler", kCompiler);
  facts.add("build_type", RDMABENCH_BUILD_TYPE);
  facts.add("collected_utc", utc_now());
  return facts.take();
}

}  // namespace rdmabench::inline v1::report
