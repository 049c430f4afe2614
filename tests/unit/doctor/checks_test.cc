// Every check against every way it can go, every fixture against broken files, and the document.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/text.h"
#include "cases.h"
#include "fixture.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr const char* kFixtures[]{"mlx5-infiniband", "roce", "roce-faults", "efa",
                                  "virtual-machine"};

/// The folders that the cases speak of.
std::string expanded(std::string line, const std::string& tree) {
  const bool ib = tree == "mlx5-infiniband";
  const std::string ib_up = "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/";
  std::map<std::string, std::string> names;
  if (ib) {
    names["$R0"] = "sys/devices/pci0000:15/0000:15:01.0";
    names["$U0"] = "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0";
    names["$B0"] = ib_up + "0000:17:00.0";
    names["$D0"] = names["$B0"] + "/0000:18:00.0";
    names["$N0"] = names["$D0"] + "/net/ib0";
    names["$G0"] = ib_up + "0000:17:01.0/0000:19:00.0";
    names["$D1"] = "sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0/0000:99:00.0/0000:9a:00.0";
  } else if (tree == "efa") {
    names["$D0"] = "sys/devices/pci0000:00/0000:00:19.0";
    names["$G0"] = "sys/devices/pci0000:00/0000:00:14.0";
    names["$P0"] = names["$D0"] + "/infiniband/rdmap0s25/ports/1";
    names["$I0"] = names["$D0"] + "/infiniband/rdmap0s25";
  } else {
    names["$B0"] = "sys/devices/pci0000:00/0000:00:01.1";
    names["$D0"] = names["$B0"] + "/0000:01:00.0";
    names["$N0"] = names["$D0"] + "/net/ens1np0";
    names["$D1"] = "sys/devices/pci0000:20/0000:20:01.1/0000:21:00.0";
    names["$N1"] = names["$D1"] + "/net/ens2np0";
  }
  if (tree != "efa") {
    names["$P0"] = names["$D0"] + "/infiniband/mlx5_0/ports/1";
    names["$P1"] = names["$D1"] + "/infiniband/mlx5_1/ports/1";
    names["$I0"] = names["$D0"] + "/infiniband/mlx5_0";
    names["$I1"] = names["$D1"] + "/infiniband/mlx5_1";
  }
  names["$C"] = "sys/devices/system/cpu";
  names["$NODE"] = "sys/devices/system/node";
  for (const auto& [name, folder] : names) {
    const std::size_t at = line.find(name + "/");
    if (at != std::string::npos) line.replace(at, name.size(), folder);
  }
  return line;
}

Finding run(const Case& one) {
  MemoryStore store = load(one.tree);
  for (const std::string& edit : one.edits) change(store, expanded(edit, one.tree));
  DoctorOptions options;
  options.only = {one.check};
  for (const std::string& text : one.expect) options.expectations.add_user(text);
  const Diagnosis diagnosis = judge(std::move(store), options);
  for (const Finding& finding : diagnosis.findings) {
    if (finding.id != one.check) continue;  // a cause
    if (one.subject.empty() || finding.subject == one.subject) return finding;
  }
  ADD_FAILURE() << one.check << " has no finding on " << one.subject;
  return {};
}

TEST(Checks, GoEveryWay) {
  for (const Case& one : cases()) {
    const Finding finding = run(one);
    std::ostringstream text;
    text << one.check << " " << one.subject << " of " << one.tree;
    for (const std::string& edit : one.edits) text << "\n  " << edit.substr(0, 160);
    text << "\n  observed '" << finding.observed << "', expected '" << finding.expected
         << "', reason '" << finding.reason << "'";
    EXPECT_EQ(name(finding.status), name(one.status)) << text.str();
    const bool wrong = finding.status == Status::warn || finding.status == Status::fail;
    EXPECT_EQ(finding.remedy.empty(), !wrong) << text.str();
    const bool judged = wrong || finding.status == Status::pass;
    EXPECT_EQ(finding.reason.empty(), judged) << text.str();
    if (judged) {
      EXPECT_FALSE(finding.observed.empty()) << text.str();
      EXPECT_FALSE(finding.expected.empty()) << text.str();
      EXPECT_NE(finding.source, Source::none) << text.str();
    }
  }
}

TEST(Checks, HaveACaseForEachWayTheyGo) {
  std::map<std::string, std::set<Status>> seen;
  for (const Case& one : cases()) seen[one.check].insert(one.status);
  for (const CheckInfo& check : checks()) {
    const std::set<Status>& ways = seen[std::string(check.id)];
    const bool only_compares = check.rule == "compared with peers";
    EXPECT_TRUE(only_compares || ways.count(Status::pass) == 1) << check.id << " never passes";
    EXPECT_TRUE(only_compares || ways.count(Status::warn) == 1 || ways.count(Status::fail) == 1)
        << check.id << " never finds anything";
    EXPECT_EQ(ways.count(Status::skip), 1U) << check.id << " never skips";
    EXPECT_EQ(check.rule.find("FAIL") != std::string_view::npos, ways.count(Status::fail) == 1)
        << check.id << ": rule and cases differ about FAIL";
    EXPECT_EQ(check.rule.find("WARN") != std::string_view::npos, ways.count(Status::warn) == 1)
        << check.id << ": rule and cases differ about WARN";
  }
  for (const auto& [id, ways] : seen) EXPECT_NE(find_check(id), nullptr) << id;
}

TEST(Checks, AreAtLeastSixtyAndEachThereOnce) {
  std::set<std::string_view> ids;
  for (const CheckInfo& check : checks()) {
    EXPECT_TRUE(ids.insert(check.id).second) << check.id;
    EXPECT_NE(check.id.find('.'), std::string_view::npos) << check.id;
    for (const std::string_view text :
         {check.title, check.reads, check.rule, check.remedy, check.source}) {
      EXPECT_FALSE(text.empty()) << check.id;
    }
  }
  EXPECT_GE(ids.size(), 60U);
}

/// Ends at a circle by its depth.
void expect_causes(const CheckInfo& check, std::size_t depth) {
  ASSERT_LT(depth, checks().size()) << check.id << " rests on itself";
  for (const std::string_view id : split(check.rests_on, ',')) {
    if (check.rests_on.empty()) return;
    const CheckInfo* const cause = find_check(trimmed(id));
    ASSERT_NE(cause, nullptr) << check.id << " rests on " << id;
    EXPECT_FALSE(cause->as_cause.empty()) << id;
    expect_causes(*cause, depth + 1);
  }
}

TEST(Checks, RestOnChecksThatSayWhatTheirFaultIs) {
  for (const CheckInfo& check : checks()) expect_causes(check, 0);
}

std::string markdown(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

TEST(Checks, AreThoseOfTheDocument) {
  std::ostringstream table;
  table << "| check | what | reads | rests on | rule | remedy | source |\n"
        << "|---|---|---|---|---|---|---|\n";
  for (const CheckInfo& check : checks()) {
    table << "| `" << check.id << "` | " << markdown(check.title) << " | `" << markdown(check.reads)
          << "`" << (check.root ? " (root)" : "") << " | " << check.rests_on << " | "
          << markdown(check.rule) << " | " << markdown(check.remedy) << " | "
          << markdown(check.source) << " |\n";
  }
  const std::string path = RDMABENCH_SOURCE_DIR "/docs/doctor.md";
  std::ifstream file(path);
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  const std::string mark = "<!-- begin -->\n";
  const std::size_t begin = document.find(mark) + mark.size();
  const std::size_t end = document.find("<!-- end -->\n", begin);
  ASSERT_NE(end, std::string::npos) << path;
  const std::vector<std::string> words = testing::internal::GetArgvs();
  if (words.back() == "--write") {
    std::ofstream(path) << document.substr(0, begin) + table.str() + document.substr(end);
    return;
  }
  std::istringstream written(document.substr(begin, end - begin));
  std::istringstream due(table.str());
  for (std::string is, should; written || due;) {
    if (!std::getline(written, is)) is = "";
    if (!std::getline(due, should)) should = "";
    ASSERT_EQ(is, should) << path << " is not what the checks say: " << words[0]
                          << " --gtest_filter=Checks.AreThoseOfTheDocument --write";
  }
}

/// Machines with nothing wrong: tests/fixtures/doctor/healthy.py.
TEST(Checks, FindNoFaultOnHealthyMachines) {
  for (const char* const tree :
       {"gb300", "hgx-b200", "graviton", "sr-iov-guest", "routed-ipv6", "grace-hopper"}) {
    for (const Finding& finding : judge(load(tree)).findings) {
      EXPECT_TRUE(finding.status != Status::fail && finding.status != Status::error)
          << tree << " " << finding.id << " " << finding.subject << ": " << finding.observed
          << ", expected " << finding.expected << finding.reason;
    }
  }
}

/// What a broken or hostile tree may hold instead of what a file should hold.
std::vector<std::string> garbage(const std::string& text) {
  return {"",
          text.substr(0, text.size() / 2),
          std::string(1, '\0') + text,
          "-1\n",
          "99999999999999999999999999\n",
          "0-18446744073709551615,3-1,,\n",
          std::string(5000, '\xff'),
          std::string(300, 'A') + "\x1b[2J\n\n\n",
          "[ ] ( X : / -> % {} \n"};
}

TEST(Checks, NeitherCrashNorPassOnGarbage) {
  std::size_t runs = 0;
  for (const char* const fixture : kFixtures) {
    const MemoryStore whole = load(fixture);
    // All would take seconds: so the small fixture gets them all and of the others every 31st, and
    // a fifth of that where each is slow. No stride has a divisor in common with the kinds of
    // garbage.
    const bool small = std::string_view(fixture) == "virtual-machine";
    const std::size_t stride = (small ? 1 : 31) * (RDMABENCH_SEEDS > 20 ? 1 : 5);
    for (const auto& [path, item] : whole.items()) {
      if (item.kind != EntryKind::file) continue;
      for (const std::string& text : garbage(item.text)) {
        if (++runs % stride != 0) continue;
        MemoryStore store = whole;
        store.add_file(path, text);
        for (const Finding& finding : judge(std::move(store)).findings) {
          ASSERT_EQ(finding.observed.find('\x1b'), std::string::npos) << path;
          ASSERT_LE(finding.observed.size(), 4096U) << path;
        }
      }
    }
  }
}

TEST(Checks, SurviveLinksInCirclesAndFilesForFolders) {
  MemoryStore store = load("mlx5-infiniband");
  for (const char* const path :
       {"sys/class/infiniband/mlx5_0", "sys/bus/pci/devices/0000:18:00.0"}) {
    store.add_link(path, "mlx5_0");
  }
  store.add_file("sys/class/infiniband/mlx5_1", "a file");
  store.add_link("sys/class/infiniband/self", ".");
  judge(store);
  store.remove("sys/class/infiniband");
  store.add_file("sys/class/infiniband", "a file");
  EXPECT_EQ(judge(store).tally().error, 0U);
}

TEST(Checks, NeverPassOnAnEmptyTree) {
  for (const Finding& finding : judge({}).findings) {
    EXPECT_EQ(finding.status, Status::skip) << finding.id << ": " << finding.observed;
  }
}

TEST(Checks, OfFilesThatMayNotBeReadNeverPass) {
  for (const char* const fixture : kFixtures) {
    MemoryStore store = load(fixture);
    const MemoryStore whole = store;
    for (const auto& [path, item] : whole.items()) {
      if (item.kind == EntryKind::file) store.add_unreadable(path, EACCES);
    }
    for (const Finding& finding : judge(std::move(store)).findings) {
      // What is told by links and folders alone is not hidden by that.
      static const std::set<std::string> kByNames{"gpu.driver",   "gpu.peer_memory",
                                                  "gpu.gdrcopy",  "device.registered",
                                                  "iommu.device", "iommu.gpu"};
      if (kByNames.count(finding.id) != 0) continue;
      EXPECT_NE(finding.status, Status::pass)
          << fixture << " " << finding.id << " " << finding.subject << ": " << finding.observed;
    }
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::health
