// rdmabench doctor
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/refuse.h"
#include "base/shared_memory_files.h"
#include "commands.h"
#include "health/peers.h"
#include "options.h"
#include "output.h"
#include "rdmabench/health/doctor.h"
#include "results/text_table.h"
#include "run/node.h"

namespace rdmabench::inline v1::tools {
namespace {

struct DoctorCommand : Output {
  std::string root;
  std::string collect;
  std::string since;
  std::vector<std::string> peers;
  health::DoctorOptions checks;
  bool ask_firmware = false;
  bool ask_gpus = false;
  bool clean = false;
  bool verbose = false;
  bool list = false;
};

int print_checks(bool wide) {
  using report::TextTable;
  TextTable table({{"check", TextTable::Align::left},
                   {"what", TextTable::Align::left},
                   {.heading = "rule", .align = TextTable::Align::left, .dispensable = 1}});
  for (const health::CheckInfo& check : health::checks()) {
    table.add_row({std::string(check.id), std::string(check.title), std::string(check.rule)});
  }
  write_text(table.text(table_width(wide)));
  return 0;
}

/// `own`: what is said last to people.
void write(const DoctorCommand& command, const health::Diagnosis& diagnosis,
           const std::string& own = "") {
  write_result(command.format == "csv" ? health::to_csv(diagnosis)
               : command.format == "line"
                   ? health::to_line(diagnosis)
                   : for_reading(health::to_text(diagnosis, command.verbose) + own, command.output),
               health::to_json(diagnosis), command);
}

/// What the comparison does not judge: "15 checks of 3 nodes FAIL by themselves".
std::string failed_by_themselves(const std::vector<health::Peer>& peers) {
  std::uint32_t checks = 0;
  std::uint32_t nodes = 0;
  for (const health::Peer& peer : peers) {
    checks += peer.failed;
    if (peer.failed > 0) ++nodes;
  }
  return fmt::format("{} check{} of {} node{} FAIL by themselves", checks, checks == 1 ? "" : "s",
                     nodes, nodes == 1 ? "" : "s");
}

/// The nodes of --peers with each other; this machine is not asked.
int compare_peers(const DoctorCommand& command, const std::vector<health::Peer>& peers) {
  refuse_if(command.ask_firmware || command.ask_gpus || command.clean || !command.collect.empty() ||
                !command.since.empty(),
            "--peers without --root, with an option that is about this machine",
            "--peers compares its FILES with each other; give --root / to judge this machine by "
            "them.");
  const auto is_expected = [&](const health::ExpectationKey& key) {
    return command.checks.expectations.find(key.name) != nullptr;
  };
  const auto keys = health::expectation_keys();
  refuse_if(!command.checks.only.empty() || std::any_of(keys.begin(), keys.end(), is_expected),
            "--peers without --root, with --only, --expect or --profile",
            "--peers compares all that its FILES observed; give --root / to judge this machine by "
            "them.");
  std::set<std::string> hosts;
  for (const health::Peer& peer : peers) {
    refuse_if(!hosts.insert(peer.host).second,
              fmt::format("two documents of the peer '{}'", report::terminal_safe(peer.host)),
              "Give one of each host; hosts are told apart by their names.");
  }
  const health::NodeComparison comparison = health::compare_nodes(peers);
  refuse_if(comparison.words.empty(), "too few nodes to compare",
            "Give documents of three nodes of one model or more.");
  health::Diagnosis diagnosis;
  diagnosis.host = fmt::format("{} nodes", peers.size());
  for (const health::NodeDifference& one : comparison.differences) {
    health::Finding& finding = diagnosis.findings.emplace_back(one.finding);
    const std::string& host = peers[one.node].host;
    finding.subject =
        finding.subject == "node" ? host : fmt::format("{} {}", host, finding.subject);
  }
  const health::Tally tally = diagnosis.tally();
  const std::string own = failed_by_themselves(peers);
  if (command.format == "line" && !tally.failed()) {  // only what differs is a finding
    write_result(fmt::format("{} nodes compared, {} WARN, no difference is a FAIL; {}\n",
                             peers.size(), tally.warn, own),
                 health::to_json(diagnosis), command);
  } else {
    write(command, diagnosis,
          fmt::format("That is the nodes compared with each other; {}: 'rdmabench report FILES' "
                      "shows both.\n",
                      own));
  }
  tell(comparison.words);
  return tally.failed() ? 1 : 0;
}

int doctor(DoctorCommand& command) {
  if (command.list) return print_checks(command.wide);
  settle_format(command);
  check_writable(command.output);
  check_writable(command.json);
  check_writable(command.collect);
  std::vector<health::Peer> peers;
  for (const std::string& path : command.peers) {
    peers.push_back(health::read_peer(read_document(path), path));
  }
  if (!peers.empty() && command.root.empty()) return compare_peers(command, peers);
  if (command.root.empty()) command.root = "/";
  if (command.clean) tell(to_text(remove_abandoned_memory()));
  const auto begin = std::chrono::steady_clock::now();
  std::optional<health::Peer> earlier;
  if (!command.since.empty()) {
    earlier = health::read_peer(read_document(command.since), command.since);
  }
  const auto store = run::open_node(command.root, command.ask_firmware,
                                    std::chrono::milliseconds(command.ask_gpus ? 10000 : 100));
  health::Diagnosis diagnosis =
      health::diagnose(health::FileTree(store), command.root, command.checks);
  if (!peers.empty()) health::compare_with_peers(diagnosis, peers);
  if (earlier) health::compare_with_earlier(diagnosis, *earlier);
  write(command, diagnosis);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (command.format != "line") {
    tell(fmt::format("{} findings of {} in {:.2f} s", diagnosis.findings.size(), command.root,
                     took.count()));
  }
  if (!command.collect.empty()) {
    const health::MemoryStore files = health::collect(store);
    health::write_archive(files, command.collect);
    tell(fmt::format("{} has {} files and links; 'rdmabench doctor --root {}' reads it",
                     command.collect, files.items().size(), command.collect));
  }
  return diagnosis.tally().failed() ? 1 : 0;
}

std::string footer() {
  std::string text =
      "A check is PASS, WARN (works, not as well as it could), FAIL, SKIP (could not be judged; the\n"
      "reason is given) or ERROR. FAIL and WARN come with what was observed, what was expected and by\n"
      "whom, what to do, and the files that were read. No privilege is needed; some checks of\n"
      "PCI configuration space are SKIP without it. 'rdmabench doctor --list' names every check.\n"
      "No program is started but nv-fabricmanager for its version, where NVIDIA's driver runs, and with\n"
      "--ask-firmware a tool that only reads, for 10 s at most for each device.\n"
      "\n"
      "Where expectations come from: standard (a specification or a documentation), derived (from\n"
      "other facts of the node), profile, peers (more than half of them agree), user,\n"
      "earlier (--since).\n"
      "KEYs of --expect and of a profile, {\"rate_gbps\": 400, ...}:\n";
  for (const health::ExpectationKey& key : health::expectation_keys()) {
    text += fmt::format("  {:14} {}\n", key.name, key.meaning);
  }
  text +=
      "\n"
      "--collect writes a tar file of exactly the files that the checks read, with the values of these\n"
      "environment variables and no others:";
  std::size_t column = 100;
  for (const std::string_view name : health::environment_names()) {
    if (column + name.size() + 1 > 78) {
      text += "\n ";
      column = 1;
    }
    text += fmt::format(" {}", name);
    column += name.size() + 1;
  }
  return text +
         "\n\nExamples:\n"
         "  rdmabench doctor                                     this node\n"
         "  rdmabench doctor --expect devices=8 --expect rate_gbps=400\n"
         "  rdmabench doctor --collect node.tar                  save what was read\n"
         "  rdmabench doctor --root node.tar --format json       judge a saved node\n"
         "  rdmabench doctor --peers node*.json                  those nodes with each other\n"
         "  rdmabench doctor --root / --peers node*.json         this node with them\n"
         "\n"
         "Exit codes: 0 nothing FAILs or is an ERROR; 1 something does; 2 wrong usage; 3 not available here.";
}

}  // namespace

void add_doctor(CLI::App& app, Command& command) {
  const auto [sub, options] = add_command<DoctorCommand>(
      app, command, "doctor",
      "Check this node, or a saved one: devices, addresses, PCIe, limits, software", footer(),
      doctor);
  const OptionGroup group(sub);
  CLI::Option* const root =
      group.add("--root=PATH", options.root, "a folder or a tar file instead of this machine [/]");
  group.add("--collect=FILE.tar", options.collect, "save what was read as a tar file");
  group
      .add("--ask-firmware", options.ask_firmware,
           "as root: start mstconfig or mlxconfig for settings of mlx5 that are in no file")
      ->excludes(root);
  group
      .add(
          "--ask-gpus", options.ask_gpus,
          "wait up to 10 s, and not 0.1 s, for NVIDIA's GPUs: they start first without persistence")
      ->excludes(root);
  group
      .add("--clean", options.clean,
           "first remove from /dev/shm what killed processes of rdmabench left there")
      ->excludes(root);
  health::DoctorOptions& checks = options.checks;
  group.call("--profile=FILE.json", "what the site expects, as JSON",
             [&checks](const Given& given) {
               checks.expectations.add_profile(read_document(given.text), given.text);
             });
  const auto expect = [&checks](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) checks.expectations.add_user(text);
  };
  group.texts("--expect=KEY=VALUE", "an expectation; may be repeated", expect)
      ->allow_extra_args(false);
  group.add("--peers=FILES", options.peers,
            "JSON of doctor on several nodes, compared with each other; with --root that one is "
            "compared with them");
  group.add("--since=OLD.json", options.since, "JSON of doctor on this node: which GIDs moved");
  group.list("--only=NAMES", checks.only, "groups or checks, separated by commas")
      ->allow_extra_args(false);
  Formats formats = kTableFormats;
  formats.emplace_back("line", "");  // for schedulers and monitors
  add_formats(group, options, formats);
  group.add("--all,--verbose", options.verbose, "show every finding: PASS and SKIP, too");
  group.add("--list", options.list, "list every check and run none");
  add_wide(group, options.wide)->description("with --list: show every check's rule, too");
}

}  // namespace rdmabench::inline v1::tools
