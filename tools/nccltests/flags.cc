#include "flags.h"

#include <fmt/format.h>

#include <utility>

#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/features.h"

namespace rdmabench::inline v1::tools::nccltests {
namespace {

using collective::DataType;
using collective::NcclOptions;
using collective::Reduction;

// Rows of the table; all programs have all flags. `usual` is nccl-tests' default; `exercised` is
// "fake" (by tests/integration/nccl.py) or "unit".
constexpr ToolSet kAll = 1;
constexpr Flag mapped(Spelling spelling, std::string_view usual, std::string_view text,
                      std::string_view exercised, Flag::Set set) {
  return {spelling, kAll, Handling::mapped, text, exercised, set, usual};
}
/// Only the default is accepted. `text` is a sentence that says what to use instead.
constexpr Flag refused(Spelling spelling, std::string_view usual, std::string_view text) {
  return {spelling, kAll, Handling::refused, text, "unit", nullptr, usual};
}

constexpr std::uint64_t kMostIterations = 1'000'000;

/// What `parse` reads, or the Error that lists the words.
template <class Parse>
auto word(const Given& given, const Parse& parse, std::string_view all_of_them) {
  try {
    return parse();
  } catch (const Error&) {
    refuse_word(given, all_of_them);
  }
}

/// The words are rdmabench's, and "all" is in the order of nccl-tests' own table.
void set_op(Flags& flags, const Given& given) {
  if (given.text == "all") {
    flags.reductions = {Reduction::sum, Reduction::prod, Reduction::max,
                        Reduction::min, Reduction::avg,  Reduction::mulsum};
    return;
  }
  const auto reduction = [&] { return collective::parse_reduction(given.text); };
  flags.reductions = {word(given, reduction, "sum, prod, min, max, avg, mulsum or all")};
}

void set_type(Flags& flags, const Given& given) {
  if (given.text == "all") {
    flags.types.clear();
    for (std::size_t i = 0; i < collective::kDataTypes; ++i) {
      flags.types.push_back(static_cast<DataType>(i));
    }
    // nccl-tests has bfloat16 after double; so has the enumeration.
    return;
  }
  const auto type = [&] { return collective::parse_type(given.text); };
  flags.types = {word(given, type,
                      "int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, "
                      "f8e4m3, f8e5m2 or all")};
}

void set_root(Flags& flags, const Given& given) {
  flags.root = given.text == "all" || given.text == "-1"
                   ? -1
                   : static_cast<std::int64_t>(whole(given, 0, UINT32_MAX));
}

void set_json(Flags& flags, const Given& given) {
  constexpr std::string_view kSuffix = ".json";
  const bool is_json =
      given.text.size() > kSuffix.size() &&
      std::string_view(given.text).substr(given.text.size() - kSuffix.size()) == kSuffix;
  refuse_if(!is_json, fmt::format("{} '{}'", given.name, given.text),
            "Give a name that ends in .json.");
  flags.json_file = given.text;
}

/// 0 or 1, of a flag that changes nothing.
void check_switch(Flags& /*flags*/, const Given& given) {
  whole(given, 0, 1);
}

constexpr std::string_view kDevice =
    "Use nccl-tests itself: kernels of NCCL's device interface are compiled against its headers.";

constexpr Flag kFlags[] = {
    mapped("-t, --nthreads=count", "1",
           "number of ranks = threads x GPUs; here each rank is a separate process", "fake",
           set<&Flags::threads, 1, 1024>),
    mapped("-g, --ngpus=count", "1",
           "the same; without a launcher -t x -g ranks are started here, with one it must be 1",
           "fake", set<&Flags::gpus, 1, 1024>),
    mapped("-b, --minbytes=bytes", "32M", "the first of --size", "fake", set<&Flags::min_bytes>),
    mapped("-e, --maxbytes=bytes", "32M", "the last of --size", "fake", set<&Flags::max_bytes>),
    mapped("-i, --stepbytes=bytes", "1M", "difference between two sizes", "unit",
           set<&Flags::step_bytes>),
    mapped("-f, --stepfactor=factor", "off", "factor between two sizes; a whole number, 1 is off",
           "fake", set<&Flags::step_factor, 1, 1 << 20>),
    mapped("-n, --iters=count", "20", "--iterations", "fake",
           set<&Flags::iterations, 1, kMostIterations>),
    refused("-m, --agg_iters=count", "1",
            "Leave it out: here each operation is launched separately."),
    mapped("-w, --warmup_iters=count", "1", "--warmup, of every size, in and out of place", "fake",
           set<&Flags::warmup, 0, kMostIterations>),
    mapped("-N, --run_cycles=count", "1",
           "how often all sizes are measured; 0 (without end) is refused", "unit",
           [](Flags& f, const Given& g) {
             refuse_if(g.text == "0", "-N 0 is not accepted here",
                       "Give a number, and repeat the command in a shell loop.");
             f.cycles = whole(g, 1, 10'000);
           }),
    {"-p, --parallel_init=0|1", kAll, Handling::not_needed,
     "ranks are processes and join at the same time", "unit", check_switch, "0"},
    mapped("-c, --check=count", "1",
           "0 is --no-check; any other value checks every operation, timed ones included, where -e "
           "has a place for each; else the last in each place (in place: one more)",
           "fake", set<&Flags::check, 0, kMostIterations>),
    mapped("-o, --op=name", "sum", "--reduction, or all", "fake", set_op),
    mapped("-d, --datatype=name", "float", "--type, or all types of this NCCL", "fake", set_type),
    mapped("-r, --root=rank", "0", "--root; all or -1 is every rank in turn", "fake", set_root),
    mapped("-z, --blocking=0|1|2|3", "0",
           "0: back to back, 1024 at most; 1, 2 and 3 are the same: each operation is a sample, "
           "and its rank waits for it before it starts the next; there is no barrier between them; "
           "with -G always 0",
           "fake", set<&Flags::blocking, 0, 3>),
    {"-y, --stream_null=0|1", kAll, Handling::ignored, "operations use a separate stream", "unit",
     check_switch, "0"},
    mapped("-T, --timeout=seconds", "off",
           "--timeout, for every wait, joining and leaving included; default: 30 s", "fake",
           [](Flags& f, const Given& g) {
             f.timeout = std::chrono::seconds(static_cast<std::int64_t>(whole(g, 1, 86'400)));
           }),
    mapped(
        "-G, --cudagraph=launches", "0",
        "--graph: the operations of -n are captured as one graph, after those of -w, one at least, "
        "by plain calls; all launches follow one another and are awaited together; 1000 at most",
        "fake",
        [](Flags& f, const Given& g) {
          f.graph_launches = whole(g, 0, 1000);
          f.nccl.graph = f.graph_launches > 0;
        }),
    refused("-C, --report_cputime=0|1", "0",
            "Leave it out: the measured time ends when the result is complete."),
    refused("-S, --report_timestamps=0|1", "0",
            "Use -J FILE.json: the document holds the time of the run."),
    mapped(
        "-J, --output_file=file", "-",
        "a document rdmabench-coll/1, without the process environment; the name must end in .json",
        "fake", set_json),
    mapped(
        "-a, --average=0|1|2|3", "1",
        "which rank's median time is printed: 0 that of rank 0, 1 the mean of all, 2 the shortest, 3 the "
        "longest",
        "unit", set<&Flags::average, 0, 3>),
    mapped("-R, --local_register=0|1|2", "0",
           "--register none, local or symmetric; an error where this NCCL does not support it",
           "fake",
           [](Flags& f, const Given& g) {
             set_value(f.nccl.registration, g, {0, 2});
           }),
    mapped("-x, --cta_policy=0|1|2", "unset", "--cta-policy; an error before NCCL 2.27", "fake",
           [](Flags& f, const Given& g) {
             set_value(f.nccl.cta_policy, g, {0, 2});
           }),
    refused("-D, --device_implementation=number", "0", kDevice),
    refused("-V, --device_cta_count=count", "16", kDevice),
    refused("-M, --memory=0|1", "0",
            "Use nvidia-smi during the run: NCCL does not report how much memory it uses."),
    mapped("-u, --unalign=elements", "0", "--misalign: offset of input and result, in elements",
           "fake",
           [](Flags& f, const Given& g) {
             set_value(f.nccl.misalign, g, {0, 1U << 16U});
           }),
    mapped("-I, --per_iter_timing=0|1", "0",
           "each operation is a sample; four more columns show the distribution; with -G always 0",
           "fake", set<&Flags::per_iteration, 0, 1>),
    refused("-K, --per_iter_skip=count", "0",
            "Use -w: no sample is left out here, and warm-up operations are not samples."),
};

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

std::span<const Flag> flags() {
  return kFlags;
}

std::string to_markdown() {
  std::string text = "| flag | default | here | | exercised |\n|---|---|---|---|---|\n";
  for (const Flag& flag : kFlags) {
    std::string words(flag.value);
    for (std::size_t at = 0; (at = words.find('|', at)) != std::string_view::npos; at += 2) {
      words.replace(at, 1, "\\|");
    }
    text += fmt::format("| `-{}`, `--{}` {} | {} | {} | {} | {} |\n", flag.letter, flag.name, words,
                        flag.usual, handling_text(flag), flag.text, flag.exercised);
  }
  return text;
}

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

namespace {

CommandLineStyle<Flags> style() {
  return {
      .about =
          "nccl-tests' {}, measured by rdmabench: NCCL is loaded when it runs, and no MPI is "
          "needed.",
      .operand = "",
      .version = "rdmabench " RDMABENCH_VERSION ", takes the flags of nccl-tests 2.19.6",
      .footer =
          "Of flags that are not listed only the default is accepted; the error says what to use\n"
          "instead. docs/nccl-tests.md has them all, and how ranks find one another.",
      .tables = {nccltests::flags(), kOwn}};
}

}  // namespace

Accepted accepted(const Tool& /*tool*/) {
  return tools::accepted(style(), kAll);
}

CommandLine<Flags> parse(const Tool& tool, const std::vector<std::string>& words) {
  refuse_if(!tool.refused.empty(), fmt::format("{} is not offered here", tool.name), tool.refused);
  CommandLine<Flags> line;
  read_command_line(style(), tool.name, kAll, words, line);
  if (line.answer.empty()) {
    check(line.flags);
    switch_off(line.flags);
  }
  return line;
}

}  // namespace rdmabench::inline v1::tools::nccltests
