// rdmabench compare
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "analysis/baseline.h"
#include "base/refuse.h"
#include "commands.h"
#include "ending.h"
#include "flags/values.h"
#include "launches.h"
#include "options.h"
#include "output.h"
#include "rdmabench/analysis/comparison.h"
#include "rdmabench/base/error.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::tools {
namespace {

struct CompareOptions : Output {
  std::vector<std::string> paths;
  std::vector<std::string> a;
  std::vector<std::string> b;
  analysis::ComparisonOptions comparison;
  std::string a_name;  ///< "" = by the paths
  std::string b_name;
  std::string program;  ///< of --as
  bool plan = false;
  std::uint64_t seed = 0;  ///< of a bootstrap that earlier releases had
  double variation = 0;    ///< of --cv; 0: from the pilot
  double assumed = 0;      ///< of --true-difference
  std::string baseline;    ///< the database
  std::string name;
  std::uint32_t launches = 0;  ///< of each side, to be measured
  std::string keep;            ///< folder for their documents
  std::string action;          ///< with the baseline: "--store", "--list", "--show" or "--remove"
};

/// Names the sides as the options say, else by the paths.
void settle(CompareOptions& options, const std::pair<std::string, std::string>& by_paths) {
  options.comparison.a_name = options.a_name.empty() ? by_paths.first : options.a_name;
  options.comparison.b_name = options.b_name.empty() ? by_paths.second : options.b_name;
}

/// Writes the comparison, or `text` of it, and returns the exit code.
int write(const CompareOptions& options, const analysis::Comparison& comparison,
          const std::string& text, const std::vector<std::string>& left_out) {
  write_result(for_reading(text, options.output), to_json(comparison), options);
  const int code = tell_left_out(left_out);
  return comparison.failed() ? static_cast<int>(Fault::failed) : code;
}

/// `cut`: why there are fewer launches than were asked for; "" where there are all.
int compare_sides(CompareOptions options, const std::string& cut = "") {
  if (options.a.empty() && options.b.empty()) {
    refuse_if(options.paths.size() != 2,
              fmt::format("two paths are needed, not {}", options.paths.size()),
              "Give A and B, or lists with --a FILES --b FILES.");
    options.a = {options.paths[0]};
    options.b = {options.paths[1]};
  } else if (!options.paths.empty()) {
    throw Error(Fault::usage, fmt::format("'{}' beside --a and --b", options.paths[0]),
                "Give every file with --a or with --b.");
  }
  settle(options, analysis::side_names(options.a, options.b));
  std::vector<std::string> left_out;
  const auto a = analysis::load_launches(options.a, options.program, &left_out);
  const auto b = analysis::load_launches(options.b, options.program, &left_out);
  analysis::Comparison comparison = analysis::compare(a, b, options.comparison);
  if (!cut.empty()) comparison.notes.push_back(cut);
  return write(options, comparison, to_table(comparison, table_width(options.wide)), left_out);
}

/// "bw node2 -d a -- bw node2 -d b" as two command lines.
std::array<std::vector<std::string>, 2> command_lines(const CompareOptions& options) {
  std::array<std::vector<std::string>, 2> sides{{{"rdmabench"}, {"rdmabench"}}};
  std::size_t side = 0;
  for (const std::string& word : options.paths) {
    if (word == "--" && side == 0) {
      side = 1;
    } else {
      sides[side].push_back(word);
    }
  }
  for (const std::vector<std::string>& one : sides) {
    const bool measures = one.size() > 1 && (one[1] == "lat" || one[1] == "bw" || one[1] == "load");
    refuse_if(
        !measures || !options.a.empty() || !options.b.empty(),
        fmt::format("--launches {} without two command lines of lat, bw or load", options.launches),
        "Write: compare --launches 5 -- bw node2 -d mlx5_0 -- bw node2 -d mlx5_1.");
  }
  refuse_if(sides[0][1] != sides[1][1], fmt::format("'{}' against '{}'", sides[0][1], sides[1][1]),
            "The two measure nothing in common: give the same command on both sides.");
  return sides;
}

/// Refuses what would make the comparison fail when all is measured.
void check_sides(CompareOptions& options) {
  if (options.a_name.empty()) options.a_name = "A";
  if (options.b_name.empty()) options.b_name = "B";
  refuse_if(options.a_name == options.b_name,
            fmt::format("both sides are named '{}'", options.a_name),
            "Give each side a name of its own by --a-name and --b-name.");
  refuse_if(!options.program.empty(), "--as with --launches",
            "It is of what another program printed.");
  const std::uint32_t planned = options.comparison.planned;
  refuse_if(planned > 0 && planned < options.launches,
            fmt::format("--planned {} with --launches {}", planned, options.launches),
            "The alpha is spent with those planned: plan as many as are measured, or more.");
}

/// Of each side its own, for launches with names that sort as they ran.
std::array<std::string, 2> folders_of(const std::string& keep) {
  std::array folders{keep + "/a", keep + "/b"};
  if (keep.empty()) return folders;
  for (const std::string& folder : folders) {
    refuse_if(std::filesystem::exists(folder) && !std::filesystem::is_empty(folder),
              fmt::format("--keep: there are files in '{}'", folder),
              "Name a new folder: launches of another time would be compared with these.");
    std::filesystem::create_directories(folder);
  }
  return folders;
}

/// Measures A and B in turn, A B B A, and compares what came to its end.
int measure_sides(CompareOptions options) {
  const std::array<std::vector<std::string>, 2> sides = command_lines(options);
  check_sides(options);
  for (const std::vector<std::string>& side : sides) {
    if (const int code = check_launch(side); code != 0) return code;
  }
  const std::array<std::string, 2> folders = folders_of(options.keep);
  options.paths.clear();
  std::array<std::vector<std::string>*, 2> documents{&options.a, &options.b};
  std::array<std::size_t, 2> kept{};
  int code = 0;
  std::string ended;
  for (std::uint32_t i = 0; i < 2 * options.launches && code == 0 && interrupted().empty(); ++i) {
    const std::size_t side = i % 4 == 1 || i % 4 == 2 ? 1 : 0;
    const OneLaunch one = launch(sides.at(side), i, 2 * options.launches);
    code = one.code;
    ended = one.ended;
    if (code != 0) continue;
    documents.at(side)->push_back(one.document);
    if (i == 1) {  // refuses what cannot be compared, before the rest is measured or kept
      settle(options, {});
      analysis::compare(analysis::load_launches(options.a, ""),
                        analysis::load_launches(options.b, ""), options.comparison);
    }
    for (std::size_t of = 0; i > 0 && !options.keep.empty() && of < 2; ++of) {
      for (std::size_t& next = kept.at(of); next < documents.at(of)->size(); ++next) {
        write_file(documents.at(of)->at(next),
                   fmt::format("{}/{:03}.json", folders.at(of), next + 1));
      }
    }
  }
  if (options.a.empty() || options.b.empty()) return code;
  const std::string why = !interrupted().empty() ? interrupted()
                          : !ended.empty()       ? ended
                                                 : "a launch failed";
  const bool whole = options.a.size() + options.b.size() == 2 * options.launches;
  const int compared =
      compare_sides(options, whole ? ""
                                   : fmt::format("{} of {} launches of {} and {} of {}: {}.",
                                                 options.a.size(), options.launches, options.a_name,
                                                 options.b.size(), options.b_name, why));
  return code != 0 ? code : compared;
}

/// What --store does, to be written.
std::string store(const CompareOptions& options, const std::vector<analysis::Launch>& launches) {
  for (const analysis::Launch& one : launches) {
    refuse_if(one.error.has_value(),
              fmt::format("{} ended early: {}", one.source, one.error.value_or("")),
              "Store only launches that ran to the end.");
  }
  analysis::BaselineStore store(options.baseline, analysis::BaselineStore::Open::create);
  const std::size_t added = store.add(options.name, launches, options.comparison.factors);
  return fmt::format("STORED: {} launches in '{}', {} of them new\n", launches.size(),
                     report::terminal_safe(options.name), added);
}

/// What --list, --show and --remove do, to be written.
std::string keep_baselines(const CompareOptions& options) {
  const bool removes = options.action == "--remove";
  refuse_if(!options.paths.empty() || !options.a.empty() || !options.b.empty(),
            fmt::format("{} takes no files", options.action),
            removes ? "It removes a whole baseline: compare --baseline DB --name NAME --remove."
                    : "It only tells what the database holds.");
  analysis::BaselineStore store(options.baseline, analysis::BaselineStore::Open::existing);
  const std::size_t width = table_width(options.wide);
  if (options.action == "--show") {
    return for_reading(to_table(store.load(options.name), width), options.output);
  }
  if (removes) {
    const std::size_t removed = store.remove(options.name);
    return fmt::format("REMOVED: '{}' with {} launches\n", report::terminal_safe(options.name),
                       removed);
  }
  using Align = report::TextTable::Align;
  report::TextTable table({{"baseline", Align::left},
                           {"launches"},
                           {"first stored", Align::left},
                           {"last stored", Align::left}});
  const auto entries = store.list();
  for (const auto& one : entries) {
    table.add_row({one.name, fmt::format("{}", one.launches), one.first_utc, one.last_utc});
  }
  return entries.empty() ? "The database holds no baseline.\n" : table.text(width);
}

int hold_against_baseline(CompareOptions options) {
  const bool stores = options.action == "--store";
  refuse_if(options.name.empty() && options.action != "--list", "--baseline without --name",
            "Name the baseline, as --name nightly; --list tells which there are.");
  refuse_if(!options.action.empty() && !options.json.empty(), "--json with " + options.action,
            "It is of what is compared.");
  if (!options.action.empty() && !stores) {
    write_text(keep_baselines(options), options.output);
    return 0;
  }
  refuse_if(options.paths.empty() || !options.a.empty() || !options.b.empty(),
            "--baseline takes the new launches' files alone",
            "Write: compare --baseline DB --name NAME FILES.");
  std::vector<std::string> left_out;
  const std::vector<analysis::Launch> launches =
      analysis::load_launches(options.paths, options.program, stores ? nullptr : &left_out);
  if (stores) {
    write_text(store(options, launches), options.output);
    return 0;
  }
  const auto names = analysis::side_names({options.name}, options.paths);
  settle(options, {options.name, names.second == options.name ? "the new launches" : names.second});
  options.comparison.baseline = true;
  analysis::BaselineStore baselines(options.baseline, analysis::BaselineStore::Open::existing);
  const analysis::Comparison comparison =
      analysis::compare(baselines.load(options.name), launches, options.comparison);
  return write(options, comparison, regression_line(comparison) + "\n", left_out);
}

int plan(const CompareOptions& options) {
  const bool pilot = !options.paths.empty();
  refuse_if(options.variation > 0 && pilot,
            fmt::format("--cv with the pilot '{}'", fmt::join(options.paths, " ")),
            "Give one of the two.");
  refuse_if(!(options.variation > 0) && !pilot, "--plan without a variation",
            "Give --cv 2%, or the files of a pilot: five launches of one side.");
  const analysis::LaunchPlan plan =
      pilot ? analysis::plan_from(analysis::load_launches(options.paths, options.program),
                                  options.assumed, options.comparison)
            : analysis::plan_for(options.variation, options.assumed, options.comparison.settings);
  write_result(for_reading(to_table(plan), options.output), to_json(plan), options);
  return 0;
}

int run(CompareOptions& options) {
  settle_format(options, kReportHint);
  check_writable(options.output);
  check_writable(options.json);
  options.comparison.settings.check();
  const bool looks = !options.plan && options.baseline.empty();
  refuse_if(options.comparison.planned > 0 && !looks,
            fmt::format("--planned with {}", options.plan ? "--plan" : "--baseline"),
            "It is of looks at two sides: compare A B --planned 20.");
  refuse_if(options.launches > 0 && !looks,
            fmt::format("--launches with {}", options.plan ? "--plan" : "--baseline"),
            "It measures two sides and compares them.");
  if (options.plan) return plan(options);
  if (!options.baseline.empty()) return hold_against_baseline(options);
  const std::string alone =
      options.action.empty() && !options.name.empty() ? "--name" : options.action;
  refuse_if(!alone.empty(), alone + " without --baseline",
            "Name the database: --baseline DB.sqlite.");
  refuse_if(options.launches == 0 && !options.keep.empty(), "--keep without --launches",
            "It keeps what is measured: compare --launches 5 --keep runs -- bw node2 -- bw node3.");
  return options.launches > 0 ? measure_sides(options) : compare_sides(options);
}

constexpr const char* kCompareFooter =
    R"(Inputs are JSON documents of lat, bw or load; a directory stands for its *.json, or
without them for what other tools printed (*.txt, *.log, *.out). One document is one launch, and the
launch is the unit: fresh processes and connections, A and B in turn (A B B A), five of each at least.
Samples within a launch depend on each other and add nothing to it.

For p50, p99, p99.9 and bandwidth of each operation and size, the ratio B/A has an interval
(Welch's t on the launches' logs), and a verdict:
  EQUIVALENT                within the margin
  DIFFERENT BUT IMMATERIAL  within the margin, yet not the same
  BETTER, WORSE             beyond the margin: B against A, by whether less or more is better
  INCONCLUSIVE              neither was proved, and how many launches more may do it, or which noise
                            to remove first
  DRIFTING                  the values moved while the launches ran
  REFUSED                   too few samples for the percentile, or no value
Over all sizes it is EQUIVALENT if every size is, BETTER or WORSE if one is after Holm's
correction, and MIXED if some are better and some are worse.

Whatever else differs between the sides (kernel, MTU, depth, ...) makes the verdict CONFOUNDED,
unless it is what you compare: --factor backend. Names of hosts, addresses and times are left out
of that.

Examples:
  rdmabench compare --launches 5 -- bw node2 -d mlx5_0 -- bw node2 -d mlx5_1
  rdmabench compare --plan --cv 2% --margin 5%          how many launches it will take
  rdmabench compare ib/ roce/ --factor device --margin 3%
  rdmabench compare --a old*.json --b new*.json --a-name 6.1 --b-name 6.12 --factor kernel
  rdmabench compare a/ b/ --fail-on different,inconclusive --format json
  rdmabench compare --baseline lab.sqlite --name nightly --store good*.json
  rdmabench compare --baseline lab.sqlite --name nightly tonight*.json    one line, exit code
  rdmabench compare --baseline lab.sqlite --list        also --name nightly --show, --remove

Exit codes: 1 what --fail-on names is so: by default that B is WORSE, or MIXED, or with --baseline
a REGRESSION; 0 otherwise; 2 wrong usage or input; 3 no SQLite in this build. docs/compare.md says
how and why.)";

void add_settings(const OptionGroup& group, CompareOptions& options) {
  analysis::Settings& settings = options.comparison.settings;
  group.add(
      "--margin=PERCENT", settings.margin,
      "difference that does not matter, fixed before measuring: B/A within 1/(1+m) to 1+m [5%]",
      parse_percent);
  group.add("--alpha=PERCENT", settings.alpha, "chance of a wrong verdict at the margin [5%]",
            parse_percent);
  group.add("--power=PERCENT", settings.power,
            "chance of a verdict that launches are planned for [90%]", parse_percent);
  group.add("--seed=N", options.seed, "has no effect: nothing is resampled any more",
            {0, std::numeric_limits<std::int64_t>::max()});
  group.add("--planned=N", options.comparison.planned,
            "launches of each side that will be measured, if you look before: all looks together "
            "keep --alpha",
            {analysis::kMinLaunches, 1'000'000});
  group.add("--cv=PERCENT", options.variation, "with --plan: how launches vary, sigma/mean",
            parse_percent);
  group.add("--true-difference=PERCENT", options.assumed,
            "with --plan: by how much B is assumed to differ [0%]", parse_percent);
}

}  // namespace

void add_compare(CLI::App& app, Command& command) {
  using analysis::FailOn;
  const auto [sub, options] = add_command<CompareOptions>(
      app, command, "compare", "Decide whether two sets of results differ by more than a margin",
      kCompareFooter, run);
  const OptionGroup group(sub);
  group.operand("PATHS", options.paths, "two files or directories, A and B; or see --baseline");
  group.add("--a=FILES", options.a, "files and directories of A");
  group.add("--b=FILES", options.b, "files and directories of B");
  group.add(
      "--factor=NAMES", options.comparison.factors,
      "what is compared: backend, provider, device, kernel, mtu, ... or all, separated by commas",
      [](const std::string& text) { return analysis::Factors(comma_separated(text)); });
  group.call("--metric=NAMES",
             "p50, p99, p99.9 and bandwidth, separated by commas [all that the samples support]",
             [&metrics = options.comparison.metrics](const Given& given) {
               for (const std::string& word : comma_separated(given.text)) {
                 metrics.push_back(analysis::parse_metric(word));
               }
             });
  add_settings(group, options);
  group.add("--launches=N", options.launches,
            "measure N launches of each side, in turn: the two command lines stand at the end, "
            "each behind --",
            {1, kMaxLaunches});
  group.add("--keep=FOLDER", options.keep,
            "with --launches: write each launch's document to FOLDER/a and FOLDER/b");
  group.add("--skip-failed", options.comparison.skip_failed,
            "leave launches that ended early out, and say so");
  add_program(group, options.program);
  group.add("--a-name=NAME", options.a_name, "what A is called [by its path]");
  group.add("--b-name=NAME", options.b_name, "what B is called [by its path]");
  std::vector<FailOn>& fail_on = options.comparison.fail_on;
  group.call(
      "--fail-on=LIST",
      "exit with 1 if B is worse, different, inconclusive, confounded or incomplete, separated by "
      "commas; or none [worse]",
      [&fail_on](const Given& given) {
        fail_on.clear();
        if (given.text == "none") return;
        for (const std::string& word : comma_separated(given.text)) {
          fail_on.push_back(analysis::parse_fail_on(word));
        }
      });
  const auto fail_on_all = [&fail_on](const Given& /*given*/) {
    fail_on = {FailOn::worse, FailOn::different, FailOn::inconclusive, FailOn::confounded,
               FailOn::incomplete};
  };
  group.call("--strict", "all that --fail-on knows", fail_on_all)
      ->excludes(sub.get_option("--fail-on"));
  group.add("--plan", options.plan,
            "say how many launches a verdict takes, from --cv or a pilot's files");
  group.add("--baseline=DB", options.baseline, "SQLite database of named baselines");
  group.add("--name=NAME", options.name, "which baseline");
  std::string& action = options.action;
  const auto act = [&group, &action](const char* flag, const char* help) {
    group.call(flag, help, [&action](const Given& given) {
      refuse_if(!action.empty() && action != given.name,
                "more than one of --store, --list, --show and --remove", "Do one at a time.");
      action = given.name;
    });
  };
  act("--store", "add the files to the baseline instead of judging them");
  act("--list", "which baselines the database holds");
  act("--show", "what the baseline holds");
  act("--remove", "remove the baseline with all its launches");
  add_formats(group, options, {{"table", ".txt"}, {"json", ".json"}});
  add_wide(group, options.wide);
}

}  // namespace rdmabench::inline v1::tools
