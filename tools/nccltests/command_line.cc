#include "flags.h"

#include <fmt/format.h>

#include <utility>

#include "base/refuse.h"
#include "flag_table.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/features.h"

namespace rdmabench::tools::nccltests {
namespace {

constexpr Flag kOwn[] = {
    mapped("--backend=NAME", "nccl", "not nccl-tests': nccl or mpi", "",
           [](Flags& flags, const Given& given) {
             if (given.text != "nccl" && given.text != "mpi") refuse_word(given, "nccl or mpi");
             flags.backend = given.text;
           }),
    mapped("--gpu=NAME", "its number among the ranks of its host",
           "not nccl-tests': this rank's GPU", "",
           [](Flags& flags, const Given& given) { flags.nccl.device = given.text; }),
    mapped("-h, --help", "", "this text", "", nullptr),
    mapped("--version", "", "rdmabench's version", "", nullptr),
};

void refuse_of_nccl(const Flags& flags) {
  const collective::NcclOptions& nccl = flags.nccl;
  const char* const name = nccl.graph                                            ? "-G"
                           : nccl.registration != collective::Registration::none ? "-R"
                           : nccl.cta_policy >= 0                                ? "-x"
                           : nccl.misalign != 0                                  ? "-u"
                           : !nccl.device.empty()                                ? "--gpu"
                                                                                 : nullptr;
  if (name == nullptr) return;
  throw Error(Fault::usage, fmt::format("{} with --backend mpi", name), "Use --backend nccl.");
}

/// As nccl-tests does (main()); its -z 1 and 2 end the capture with an error.
void switch_off(Flags& flags) {
  if (flags.graph_launches == 0) return;
  if (std::exchange(flags.per_iteration, false)) {
    flags.notes.emplace_back("-I 1 is switched off: a graph of -G is timed as a whole");
  }
  if (const std::uint32_t blocking = std::exchange(flags.blocking, 0); blocking != 0) {
    flags.notes.push_back(
        fmt::format("-z {} is switched off: a graph of -G is timed as a whole", blocking));
  }
}

void check(const Flags& flags) {
  if (flags.backend == "mpi") refuse_of_nccl(flags);
  refuse_if(flags.min_bytes > flags.max_bytes,
            fmt::format("-b {} is more than -e {}", format_size(flags.min_bytes),
                        format_size(flags.max_bytes)),
            "Give both: each is 32M by itself.");
  refuse_if(flags.step_factor == 1 && flags.step_bytes == 0 && flags.min_bytes != flags.max_bytes,
            "-i 0 never reaches -e", "Give a step, or a factor with -f.");
  sizes(flags);
}

}  // namespace

std::vector<std::uint64_t> sizes(const Flags& flags) {
  constexpr std::size_t kMost = 10'000;
  std::vector<std::uint64_t> once;
  for (std::uint64_t size = flags.min_bytes; size <= flags.max_bytes;) {
    once.push_back(size);
    const std::uint64_t next =
        flags.step_factor > 1 ? size * flags.step_factor : size + flags.step_bytes;
    if (next <= size) break;  // one size, or 0 times a factor
    size = next;
    refuse_if(once.size() * flags.cycles > kMost, fmt::format("more than {} sizes", kMost),
              "Take larger steps with -f or -i.");
  }
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < flags.cycles; ++i) all.insert(all.end(), once.begin(), once.end());
  return all;
}

CommandLine<Flags> parse(const Tool& tool, const std::vector<std::string>& words) {
  refuse_if(!tool.refused.empty(), fmt::format("{} is not offered here", tool.name), tool.refused);
  const CommandLineStyle<Flags> nccl_tests{
      .about =
          "nccl-tests' {}, measured by rdmabench: NCCL is loaded when it runs, and no MPI is "
          "needed.",
      .operand = "",
      .version = "rdmabench " RDMABENCH_VERSION ", takes the flags of nccl-tests 2.19.6",
      .footer =
          "Of flags that are not listed only the default is accepted; the error says what to use\n"
          "instead. docs/nccl-tests.md has them all, and how ranks find one another.",
      .tables = {nccltests::flags(), kOwn}};
  CommandLine<Flags> line;
  read_command_line(nccl_tests, tool.name, kAll, words, line);
  if (line.answer.empty()) {
    check(line.flags);
    switch_off(line.flags);
  }
  return line;
}

}  // namespace rdmabench::tools::nccltests
