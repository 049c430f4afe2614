#include "command_line.h"

#include <fmt/format.h>

#include "base/refuse.h"
#include "flag_table.h"
#include "rdmabench/features.h"
#include "rdmabench/run/backends.h"

namespace rdmabench::inline v1::tools::perftest {
namespace {

constexpr Flag kOwn[] = {
    same("--backend=NAME", "backend", kAll, "not perftest's: verbs, ofi or loop [verbs]", ""),
    same("--provider=NAME", "provider", kAll, "not perftest's: libfabric provider [by route]", ""),
    same("--timeout=TIME", "timeout_s", kAll,
         "not perftest's: fail when nothing completes for this long [10s]", ""),
    mapped("--verbose", kAll,
           "not perftest's: say on standard error what may have disturbed the run [on a terminal]",
           "", set<&Flags::verbose>)};

void check(const Tool& tool, const Flags& flags) {
  const auto refuse = [&](bool wrong, std::string_view what, std::string_view remedy) {
    refuse_if(wrong, fmt::format("{}: {}", tool.name, what), remedy);
  };
  const std::uint64_t size = flags.size.value_or(transport::kAtomicBytes);
  refuse(transport::is_atomic(tool.operation) && size != transport::kAtomicBytes,
         fmt::format("-s {}", size), "Atomics have 8 bytes: leave out -s.");
  refuse(flags.ib_port > 1 && flags.device.empty(), fmt::format("-i {} without -d", flags.ib_port),
         "Name the device too: -d NAME.");
  const bool file = !flags.file.empty();
  refuse(flags.file_offset != 0 && !file, "--mmap-offset without --mmap", "Name the file too.");
  refuse(flags.huge_pages && file, "--use_hugepages with --mmap", "Give one of them.");
  const bool by_number = !flags.gpu.empty();
  const bool gpu = by_number || !flags.gpu_address.empty();
  refuse(by_number && !flags.gpu_address.empty(), "--use_cuda with --use_cuda_bus_id",
         "Give one of them.");
  const bool polls = tool.latency && tool.operation == transport::OperationCode::write;
  refuse(gpu && polls && !flags.immediate, by_number ? "--use_cuda" : "--use_cuda_bus_id",
         "It sees arrival by polling the last byte, which is the GPU's here: give "
         "--write_with_imm too, or take ib_send_lat or ib_read_lat.");
  refuse(gpu && (flags.huge_pages || file), "a GPU's memory with --use_hugepages or --mmap",
         "Give one of them.");
  refuse(flags.gpu_dma_buf && !gpu, "--use_cuda_dmabuf without --use_cuda",
         "Name the GPU too: --use_cuda=0.");
  refuse((flags.gpu_pcie || flags.gpu_data_direct) && !flags.gpu_dma_buf,
         fmt::format("--{} without --use_cuda_dmabuf",
                     flags.gpu_pcie ? "use_cuda_pcie_mapping" : "use_data_direct"),
         "Add it: this is a mapping of a dma-buf.");
  refuse(flags.margin && !flags.duration, "-f without -D", "Give the duration too.");
  refuse(flags.margin && *flags.margin * 2 >= flags.duration,
         "twice the margin of -f is as long as -D", "Give a smaller margin.");
  refuse(flags.one_number && tool.latency != (flags.one_number == report::PerftestNumber::latency),
         "this value of --output belongs to the other kind of tool",
         tool.latency ? "Choose --output=latency." : "Choose bandwidth or message_rate.");
  refuse(flags.rate_limit && flags.both_ways, "--rate_limit with -b",
         "Choose one: only one-way streams are paced.");
}

}  // namespace

std::vector<FieldFlag> fields() {
  std::vector<FieldFlag> fields{{"memory", "memory"},
                                {"relaxed_ordering", "PCIe relaxed ordering"}};
  for (const FlagGroup& group : flag_groups()) add_fields(group.flags, fields);
  return fields;
}

namespace {

CommandLineStyle<Flags> style() {
  CommandLineStyle<Flags> perftest{
      .about =
          "perftest's {}, measured by rdmabench. Both sides must be rdmabench's; the client's "
          "flags decide.\nWithout HOST it is the server, for one client. A flag that is "
          "explained by one of rdmabench's (--size) does the same.",
      .operand = "[HOST]",
      .version = "rdmabench " RDMABENCH_VERSION ", takes the flags of perftest 4.5 and 26.04",
      .footer =
          "Flags that are not listed are refused, and the error says what to use instead; "
          "docs/perftest.md has them all.",
      .config = [](Flags& flags) -> Config& { return flags.config; },
      .whose =
          [](ToolSet tools) { return fmt::format("perftest has it for {}.", to_text(tools)); }};
  for (const FlagGroup& group : flag_groups()) perftest.tables.push_back(group.flags);
  perftest.tables.emplace_back(kOwn);
  return perftest;
}

}  // namespace

Accepted accepted(const Tool& tool) {
  return tools::accepted(style(), set_of(tool));
}

CommandLine<Flags> parse(const Tool& tool, const std::vector<std::string>& words) {
  CommandLine<Flags> line;
  read_command_line(style(), tool.name, set_of(tool), words, line);
  if (!line.answer.empty()) return line;
  Flags& flags = line.flags;
  flags.host = line.operand;
  flags.config.authentication = line.authentication;
  check(tool, flags);
  if (flags.cpu_util && !flags.duration && !flags.endless) {
    flags.cpu_util = false;
    flags.notes.emplace_back("--cpu_util needs -D: its column is left out");
  }
  const bool gpu = !flags.gpu.empty() || !flags.gpu_address.empty();
  if (gpu && flags.host.empty() && run::reaches_others(flags.config.backend)) {
    flags.notes.push_back(fmt::format(
        "{} has no effect at the server: the client decides whether GPU memory is used, and the "
        "server then uses the GPU nearest to its NIC",
        flags.gpu.empty() ? "--use_cuda_bus_id" : "--use_cuda"));
  }
  return line;
}

}  // namespace rdmabench::inline v1::tools::perftest
