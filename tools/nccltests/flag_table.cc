#include "flag_table.h"

#include <fmt/format.h>

#include "rdmabench/base/error.h"
#include "values.h"

namespace rdmabench::tools::nccltests {
namespace {

using collective::DataType;
using collective::Reduction;
using collective::Registration;

constexpr std::uint64_t kMostIterations = 1'000'000;

/// nccl-tests' words are ours, but for the order of "all": as its own table has it.
void set_op(Flags& flags, const Given& given) {
  if (given.text == "all") {
    flags.reductions = {Reduction::sum, Reduction::prod, Reduction::max,
                        Reduction::min, Reduction::avg,  Reduction::mulsum};
    return;
  }
  try {
    flags.reductions = {collective::parse_reduction(given.text)};
  } catch (const Error&) {
    throw Error(Fault::usage, fmt::format("{} '{}'", given.name, given.text),
                "It may be sum, prod, min, max, avg, mulsum or all.");
  }
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
  try {
    flags.types = {collective::parse_type(given.text)};
  } catch (const Error&) {
    throw Error(Fault::usage, fmt::format("{} '{}'", given.name, given.text),
                "It may be int8, uint8, int32, uint32, int64, uint64, half, float, double, "
                "bfloat16, f8e4m3, f8e5m2 or all.");
  }
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
  if (!is_json) {
    throw Error(Fault::usage, fmt::format("{} '{}'", given.name, given.text),
                "Give a name that ends in .json.");
  }
  flags.json_file = given.text;
}

/// 0 or 1.
bool on_off(const Given& given) {
  return whole(given, 0, 1) == 1;
}

constexpr std::string_view kDevice =
    "Use nccl-tests' own: kernels of NCCL's device interface are compiled against its headers.";

constexpr Flag kFlags[] = {
    {'t', "nthreads", "count", "1", Take::mapped,
     "ranks of this process = threads x GPUs; here each rank is a process of its own", "fake",
     [](Flags& f, const Given& g) { f.threads = static_cast<std::uint32_t>(whole(g, 1, 1024)); }},
    {'g', "ngpus", "count", "1", Take::mapped,
     "the same; without a launcher so many ranks are started here, else it must be 1", "fake",
     [](Flags& f, const Given& g) { f.gpus = static_cast<std::uint32_t>(whole(g, 1, 1024)); }},
    {'b', "minbytes", "bytes", "32M", Take::mapped, "the first of --size", "fake",
     [](Flags& f, const Given& g) { f.min_bytes = bytes(g); }},
    {'e', "maxbytes", "bytes", "32M", Take::mapped, "the last of --size", "fake",
     [](Flags& f, const Given& g) { f.max_bytes = bytes(g); }},
    {'i', "stepbytes", "bytes", "1M", Take::mapped, "what lies between two sizes", "unit",
     [](Flags& f, const Given& g) { f.step_bytes = bytes(g); }},
    {'f', "stepfactor", "factor", "off", Take::mapped,
     "each size is so many times the one before; whole numbers, and 1 is off", "fake",
     [](Flags& f, const Given& g) { f.step_factor = whole(g, 1, 1U << 20U); }},
    {'n', "iters", "count", "20", Take::mapped, "--iterations", "fake",
     [](Flags& f, const Given& g) { f.iterations = whole(g, 1, kMostIterations); }},
    {'m', "agg_iters", "count", "1", Take::refused,
     "Leave it out: each operation is a launch of its own here.", "unit",
     [](Flags& /*f*/, const Given& g) {
       only_default(g, 1, "Leave it out: each operation is a launch of its own here.");
     }},
    {'w', "warmup_iters", "count", "1", Take::mapped,
     "--warmup, of every size, in and out of place", "fake",
     [](Flags& f, const Given& g) { f.warmup = whole(g, 0, kMostIterations); }},
    {'N', "run_cycles", "count", "1", Take::mapped, "all sizes so often; 0 (for ever) is refused",
     "unit",
     [](Flags& f, const Given& g) {
       if (g.text == "0") {
         throw Error(Fault::usage, "-N 0 is not taken here",
                     "Give a number, and start it again by a loop of the shell.");
       }
       f.cycles = whole(g, 1, 10'000);
     }},
    {'p', "parallel_init", "0|1", "0", Take::not_needed, "ranks are processes and join at once",
     "unit", [](Flags& /*f*/, const Given& g) { on_off(g); }},
    {'c', "check", "count", "1", Take::mapped,
     "0 is --no-check; else every operation is checked, those that are timed too", "fake",
     [](Flags& f, const Given& g) { f.check = whole(g, 0, kMostIterations); }},
    {'o', "op", "name", "sum", Take::mapped, "--reduction, or all", "fake", set_op},
    {'d', "datatype", "name", "float", Take::mapped, "--type, or all that this NCCL has", "fake",
     set_type},
    {'r', "root", "rank", "0", Take::mapped, "--root; all or -1 is every rank in turn", "fake",
     set_root},
    {'z', "blocking", "0|1|2|3", "0", Take::mapped,
     "0: back to back, so many as fit into 1 GiB; 1, 2 and 3 alike: each operation is a sample, and "
     "its rank awaits it before it starts the next; there is no barrier between them",
     "fake",
     [](Flags& f, const Given& g) { f.blocking = static_cast<std::uint32_t>(whole(g, 0, 3)); }},
    {'y', "stream_null", "0|1", "0", Take::ignored, "operations go to a stream of their own",
     "unit",
     [](Flags& f, const Given& g) {
       if (on_off(g)) f.notes.emplace_back("-y 1 has no effect: operations have their own stream");
     }},
    {'T', "timeout", "seconds", "off", Take::mapped,
     "--timeout, of every wait, joining and leaving included; without it 30 s", "fake",
     [](Flags& f, const Given& g) {
       f.timeout = std::chrono::seconds(static_cast<std::int64_t>(whole(g, 1, 86'400)));
     }},
    {'G', "cudagraph", "launches", "0", Take::mapped,
     "--graph: every operation is the launch of a graph that was captured once", "fake",
     [](Flags& f, const Given& g) {
       f.graph_launches = whole(g, 0, kMostIterations);
       f.nccl.graph = f.graph_launches > 0;
     }},
    {'C', "report_cputime", "0|1", "0", Take::refused,
     "Leave it out: the time ends when the result is there.", "unit",
     [](Flags& /*f*/, const Given& g) {
       only_default(g, 0, "Leave it out: the time ends when the result is there.");
     }},
    {'S', "report_timestamps", "0|1", "0", Take::refused,
     "Take -J FILE.json: the document says when the run was.", "unit",
     [](Flags& /*f*/, const Given& g) {
       only_default(g, 0, "Take -J FILE.json: the document says when the run was.");
     }},
    {'J', "output_file", "file", "-", Take::mapped,
     "rdmabench-coll/1, never the process environment; the name must end in .json", "fake",
     set_json},
    {'a', "average", "0|1|2|3", "1", Take::mapped,
     "which rank's median time is printed: 0 rank 0's, 1 the mean of all, 2 the shortest, 3 the "
     "longest",
     "unit", [](Flags& f, const Given& g) { f.average = static_cast<Average>(whole(g, 0, 3)); }},
    {'R', "local_register", "0|1|2", "0", Take::mapped,
     "--register none, local or symmetric; one that this NCCL lacks is an error", "fake",
     [](Flags& f, const Given& g) {
       f.nccl.registration = static_cast<Registration>(whole(g, 0, 2));
     }},
    {'x', "cta_policy", "0|1|2", "unset", Take::mapped, "--cta-policy; an error before NCCL 2.27",
     "fake",
     [](Flags& f, const Given& g) {
       f.nccl.cta_policy = static_cast<std::int32_t>(whole(g, 0, 2));
     }},
    {'D', "device_implementation", "number", "0", Take::refused, kDevice, "unit",
     [](Flags& /*f*/, const Given& g) { only_default(g, 0, kDevice); }},
    {'V', "device_cta_count", "count", "16", Take::refused, kDevice, "unit",
     [](Flags& /*f*/, const Given& g) { only_default(g, 16, kDevice); }},
    {'M', "memory", "0|1", "0", Take::refused,
     "Look at nvidia-smi while it runs: what NCCL itself takes it does not tell.", "unit",
     [](Flags& /*f*/, const Given& g) {
       only_default(g, 0,
                    "Look at nvidia-smi while it runs: what NCCL itself takes it does not tell.");
     }},
    {'u', "unalign", "elements", "0", Take::mapped,
     "--misalign: input and result begin so many elements off", "fake",
     [](Flags& f, const Given& g) {
       f.nccl.misalign = static_cast<std::uint32_t>(whole(g, 0, 1U << 16U));
     }},
    {'I', "per_iter_timing", "0|1", "0", Take::mapped,
     "each operation is a sample, and four more columns say how they spread", "fake",
     [](Flags& f, const Given& g) { f.per_iteration = on_off(g); }},
    {'K', "per_iter_skip", "count", "0", Take::refused,
     "Take -w: no sample is left out here, but warm-ups are no samples.", "unit",
     [](Flags& /*f*/, const Given& g) {
       only_default(g, 0, "Take -w: no sample is left out here, but warm-ups are no samples.");
     }},
};

std::string_view name(Take take) {
  switch (take) {
    case Take::mapped:
      return "taken";
    case Take::not_needed:
      return "taken, always so";
    case Take::ignored:
      return "taken, no effect";
    case Take::refused:
      return "refused but for its default";
  }
  return "";
}

}  // namespace

std::span<const Flag> flags() {
  return kFlags;
}

std::string to_markdown() {
  std::string text = "| flag | default | here | | exercised |\n|---|---|---|---|---|\n";
  for (const Flag& flag : kFlags) {
    std::string words(flag.value);
    for (std::size_t at = 0; (at = words.find('|', at)) != words.npos; at += 2) {
      words.replace(at, 1, "\\|");
    }
    text += fmt::format("| `-{}`, `--{}` {} | {} | {} | {} | {} |\n", flag.letter, flag.name, words,
                        flag.usual, name(flag.take), flag.text, flag.exercised);
  }
  return text;
}

}  // namespace rdmabench::tools::nccltests
