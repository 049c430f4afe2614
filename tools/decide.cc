// rdmabench decide
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/decision.h"
#include "analysis/measuring_plan.h"
#include "base/refuse.h"
#include "commands.h"
#include "job_options.h"
#include "options.h"
#include "output.h"
#include "rdmabench/base/error.h"
#include "report/formats.h"

namespace rdmabench::inline v1::tools {
namespace {

using analysis::DecisionFormat;

struct DecideOptions : Output {
  std::vector<std::string> paths;
  std::string a_name;
  std::string b_name;
  JobOptions job;
  analysis::DecisionOptions decision;
  analysis::Language language = analysis::Language::english;
  bool plan = false;
  std::string pilot;
  const CLI::App* command = nullptr;
  /// The options as they were given, to be typed again: of the job, and all others but the output.
  std::string job_words;
  std::string other_words;
};

/// A word that a POSIX shell takes as it stands.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,%@+=-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Notes what was given of the options that make a decision.
void keep_words(DecideOptions& options) {
  static const std::set<std::string> kOfThePage{"format", "output", "json",   "plan",
                                                "pilot",  "a-name", "b-name", "help"};
  static const std::set<std::string> kOfTheVerdict{"price-a",  "price-b",      "steps",
                                                   "margin",   "tokens-total", "alpha",
                                                   "one-pair", "currency",     "language"};
  for (const CLI::Option* option : options.command->get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames()[0];
    if (kOfThePage.contains(name)) continue;
    std::string& words = kOfTheVerdict.contains(name) ? options.other_words : options.job_words;
    words += " --" + name;
    if (option->get_items_expected_max() > 0) words += " " + quoted(option->results().back());
  }
}

/// How many links of a node work at once is no constant: 1 is wrong for most nodes of several GPUs.
/// What was measured over several devices is all of a node's links as one.
void settle_rails(analysis::ProjectionOptions& projection,
                  std::initializer_list<const std::vector<analysis::Launch>*> sides) {
  if (projection.job.gpus_per_node <= 1 || projection.origins.contains("rails")) return;
  const bool of_all =
      sides.size() > 0 && std::ranges::all_of(sides, [](const auto* side) {
        return std::ranges::all_of(*side, [](const analysis::Launch& launch) {
          const auto device = launch.facts.find("resolved.device");
          return device != launch.facts.end() && device->second.find(',') != std::string::npos;
        });
      });
  if (of_all) {
    projection.origins["rails"] = "measured";
    return;
  }
  throw Error(
      Fault::usage,
      fmt::format("how many links of a node work at once is not said: each of its {:g} GPUs may "
                  "have one",
                  projection.job.gpus_per_node),
      fmt::format(
          "Give --rails {0:g} where each GPU has a NIC as fast as the measured one, --rails "
          "1 where all GPUs share one. Measured over all of a node's devices (--device "
          "A,B,...) they are one link: --rails 1.",
          projection.job.gpus_per_node));
}

std::string name_of(const std::string& given, const std::string& path) {
  if (!given.empty()) return given;
  const std::size_t end = path.find_last_not_of('/');
  return end == std::string::npos ? path : path.substr(0, end + 1);
}

std::string names_words(const std::string& a, const std::string& b) {
  return fmt::format(" --a-name {} --b-name {}", quoted(a), quoted(b));
}

int decide(DecideOptions& options) {
  refuse_if(options.paths.size() != 2,
            fmt::format("two paths are needed, not {}", options.paths.size()),
            "Give A and B: a folder or a file each. Before anything is measured: --plan.");
  settle_format(options);
  const auto format =
      choice<DecisionFormat>({"--format", options.format}, {{"text", DecisionFormat::text},
                                                            {"markdown", DecisionFormat::markdown},
                                                            {"json", DecisionFormat::json},
                                                            {"html", DecisionFormat::html}});
  const std::string& a = options.paths[0];
  const std::string& b = options.paths[1];
  analysis::DecisionOptions decision = options.decision;
  decision.projection = options.job.projection;
  decision.projection.a_name = name_of(options.a_name, a);
  decision.projection.b_name = name_of(options.b_name, b);
  decision.job = options.job.model;
  decision.operation = options.job.operation;
  const std::string names = names_words(decision.projection.a_name, decision.projection.b_name);
  const std::string output = options.output.empty() ? "decision.html" : options.output;
  decision.command = fmt::format("rdmabench decide {} {}{}{}{} -o {}", quoted(a), quoted(b), names,
                                 options.job_words, options.other_words, quoted(output));
  const std::string plan =
      fmt::format("rdmabench decide --plan{}{}{}", names, options.job_words, options.other_words);
  const auto run = [&](const std::string& ending) {
    return fmt::format("SERVER_A=HOST SERVER_B=HOST DIR_A={} DIR_B={} sh measure.sh",
                       quoted(name_of("", a) + ending), quoted(name_of("", b) + ending));
  };
  decision.plan_command = fmt::format("{} --pilot {} -o measure.sh", plan, quoted(a));
  decision.run_command = run("");
  decision.new_plan_command = plan + " -o measure.sh";
  decision.new_run_command = run("-new");
  decision.check();
  check_writable(options.output);
  check_writable(options.json);
  const std::vector<analysis::Launch> of_a = analysis::load_launches({a});
  const std::vector<analysis::Launch> of_b = analysis::load_launches({b});
  settle_rails(decision.projection, {&of_a, &of_b});
  const analysis::Decision made = analysis::decide(of_a, of_b, decision);
  const std::string time = report::time_of_page();
  const std::size_t width =
      options.output.empty() ? std::min(output_width(), report::kUsualWidth) : report::kUsualWidth;
  const auto written = [&](DecisionFormat as) {
    return to_document(made, as, options.language, time, width);
  };
  write_too(written(DecisionFormat::json), options.json, [&] {
    write_page(options, written(format), [&] { return written(DecisionFormat::text); });
  });
  return 0;
}

int plan(const DecideOptions& options) {
  if (!options.paths.empty() || !options.format.empty() || !options.json.empty()) {
    throw Error(Fault::usage,
                options.paths.empty() ? "--plan with --format or --json"
                                      : fmt::format("--plan with '{}'", options.paths[0]),
                "It writes a script before anything is measured; a pilot comes by --pilot.");
  }
  refuse_if(options.job.projection.axis != analysis::Axis::nodes,
            "--plan with several of --params or --tokens",
            "Several values may be given of --nodes alone.");
  analysis::ProjectionOptions job = options.job.projection;
  settle_rails(job, {});
  analysis::ScriptNames names;
  names.a = name_of(options.a_name, "A");
  names.b = name_of(options.b_name, "B");
  names.folder_a = analysis::folder_of(names.a);
  names.folder_b = analysis::folder_of(names.b);
  if (names.folder_a.empty() || names.folder_a == names.folder_b) names.folder_a = "side-a";
  if (names.folder_b.empty() || names.folder_a == names.folder_b) names.folder_b = "side-b";
  analysis::MeasuringPlan plan = analysis::plan_measuring(job, options.job.operation);
  if (!options.pilot.empty()) {
    const double variation = analysis::plan_launches(plan, analysis::load_launches({options.pilot}),
                                                     options.job.projection);
    tell(fmt::format("the pilot's step time varies by {:.1f} %: {} launches of each kind{}",
                     100 * variation, plan.launches,
                     plan.launches >= analysis::kMostPlanned
                         ? ", which may not do: remove the noise first, see 'rdmabench doctor'"
                         : ""));
  }
  const std::string words = names_words(names.a, names.b) + options.job_words;
  names.plan_command =
      fmt::format("rdmabench decide --plan{}{}", words,
                  options.pilot.empty() ? "" : " --pilot " + quoted(options.pilot));
  names.decide_command =
      fmt::format(R"("$RDMABENCH" decide "$DIR_A" "$DIR_B"{}{} --output "$OUTPUT")", words,
                  options.other_words);
  write_text(to_script(plan, names), options.output);
  tell(fmt::format("the script measures for {}", analysis::duration_text(plan)));
  return 0;
}

int run(DecideOptions& options) {
  keep_words(options);
  settle_axis(options.job);
  refuse_if(!options.plan && !options.pilot.empty(), "--pilot without --plan",
            "It is what a plan counts its launches by.");
  return options.plan ? plan(options) : decide(options);
}

constexpr const char* kDecideFooter =
    R"(A and B are folders of the JSON documents that 'lat' and 'bw' wrote on the two networks,
one launch each. The page answers: is A worth it over B for a training job, how sure is that, how much money is it,
from how many nodes, which assumption would change the answer, what to do next. It rests on the
projection of 'project', at the largest of --nodes:
  YES         with prices: a step costs less on A; without: it takes longer on B by more than
              --margin
  NO          it does not
  NOT PROVEN  the interval lies on both sides, or it would be YES and all launches of a network
              are of one pair of nodes and one session, and --one-pair is not said

--plan prints a script for sh that measures all that the job needs, on both networks in turn, and
then decides. It says how long it takes, and what to set, for srun and ssh too.

Examples:
  rdmabench decide --plan --model llama-3-8b --nodes 8:64 --rails 8 --a-name InfiniBand --b-name Ethernet -o measure.sh
  SERVER_A=node2-ib SERVER_B=node2-eth sh measure.sh
  rdmabench decide infiniband/ ethernet/ --model llama-3-8b --nodes 8:64 --rails 8 --price-a 30 \
    --price-b 26 --currency USD --steps 500k -o decision.html

Exit codes: 0 an answer was given, yes or no; 2 wrong usage or missing data: the error lists what is
missing and the commands that measure it. docs/decide.md shows it from the start.)";

}  // namespace

void add_decide(CLI::App& app, Command& command) {
  const auto [sub, options] = add_command<DecideOptions>(
      app, command, "decide",
      "Decide on one page whether network A is a better choice than B for a training job",
      kDecideFooter, run);
  const OptionGroup group(sub);
  group.operand("PATHS", options.paths, "folders or files of A and of B");
  group.add("--a-name=NAME", options.a_name, "what A is called [its path]");
  group.add("--b-name=NAME", options.b_name, "what B is called [its path]");
  add_job(sub, options.job);
  add_projection(sub, options.job);
  group.add("--steps=N", options.decision.steps,
            "number of steps of the run: gives its duration and cost", parse_quantity);
  group.add("--tokens-total=N", options.decision.tokens_total,
            "tokens of the run, in place of its steps: divided by the tokens of a step",
            parse_quantity);
  group.add("--currency=TEXT", options.decision.currency,
            "of the prices, as the page shows it: USD, EUR, $ [none]");
  group.add("--one-pair", options.decision.one_pair,
            "YES may rest on one pair of nodes and one session: on this pair, that day");
  add_formats(group, options,
              {{"text", ".txt"}, {"markdown", ".md"}, {"json", ".json"}, {"html", ".html"}});
  group.choice<analysis::Language, analysis::Language>(
      "--language=NAME", options.language, "of the page: en or ko [en]",
      {{"en", analysis::Language::english}, {"ko", analysis::Language::korean}});
  group.add("--plan", options.plan,
            "print the script that measures both networks, before anything is measured");
  group.add("--pilot=PATH", options.pilot,
            "with --plan: launches of either network, to see how many it takes");
  options.command = &sub;
}

}  // namespace rdmabench::inline v1::tools
