// The writers of documents: JUnit, Prometheus, CSV, Markdown and HTML.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pugixml.hpp>
#include <regex>
#include <set>

#include "document_samples.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "rdmabench/report/documents.h"
#include "rdmabench/results/result.h"
#include "report/body.h"
#include "report/kinds.h"
#include "results/text_table.h"
#include "samples.h"

namespace rdmabench::inline v1::report {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

pugi::xml_document junit(const std::vector<Document>& documents) {
  pugi::xml_document xml;
  const pugi::xml_parse_result result = xml.load_string(to_junit(documents).c_str());
  EXPECT_TRUE(result) << result.description();
  return xml;
}

TEST(Junit, CountsWhatItHolds) {
  const pugi::xml_document xml = junit(every_document());
  const pugi::xml_node root = xml.child("testsuites");
  for (const char* element : {"failure", "error", "skipped"}) {
    const std::string path = std::string("//testcase[") + element + "]";
    const std::string attribute = std::string(element) + (element[0] == 's' ? "" : "s");
    EXPECT_EQ(root.attribute(attribute.c_str()).as_uint(), xml.select_nodes(path.c_str()).size());
  }
  EXPECT_EQ(root.attribute("tests").as_uint(), xml.select_nodes("//testcase").size());
}

TEST(Junit, ACheckIsATestcase) {
  const pugi::xml_document xml = junit(parse_documents(doctor_text(), "d"));
  const auto one = [&](const char* id) {
    return xml
        .select_node((std::string("//testcase[@name='port.") + id + " [node7, mlx5_0:1]']").c_str())
        .node();
  };
  EXPECT_STREQ(one("FAIL").attribute("classname").value(), "doctor.port");
  EXPECT_STREQ(one("FAIL").child("failure").attribute("message").value(), "FAIL because of it");
  EXPECT_THAT(one("FAIL").child("failure").text().get(), HasSubstr("remedy: Start a subnet"));
  EXPECT_TRUE(one("SKIP").child("skipped"));
  EXPECT_TRUE(one("ERROR").child("error"));
  EXPECT_TRUE(one("PERHAPS").child("error"));  // what is not known has not passed
  EXPECT_THAT(one("WARN").child("system-out").text().get(), HasSubstr("WARN: WARN because"));
  EXPECT_FALSE(one("WARN").child("failure"));
}

/// A port that is down, and before it what follows from that.
std::vector<Document> cause_and_symptom() {
  return parse_documents(
      R"({"schema":"rdmabench-doctor/1","host":"n","root":"/","summary":{},"findings":[
          {"id":"port.rate","group":"port","title":"Rate","subject":"mlx5_0:1","status":"SKIP",
           "reason":"port mlx5_0:1 is down","observed":"","expected":"","remedy":""},
          {"id":"port.state","group":"port","title":"State","subject":"mlx5_0:1","status":"FAIL",
           "reason":"","observed":"DOWN","expected":"ACTIVE","remedy":"Look at the cable."}]})",
      "d");
}

TEST(Junit, FailsACauseAndSkipsWhatRestsOnIt) {
  const pugi::xml_document xml = junit(cause_and_symptom());
  EXPECT_EQ(xml.child("testsuites").attribute("failures").as_uint(), 1U);
  EXPECT_STREQ(xml.select_node("//testcase[failure]").node().attribute("name").value(),
               "port.state [n, mlx5_0:1]");
  EXPECT_STREQ(xml.select_node("//skipped").node().attribute("message").value(),
               "port mlx5_0:1 is down");
}

TEST(Prometheus, HasNoFaultOfWhatRestsOnACause) {
  const std::string text = to_prometheus(cause_and_symptom());
  EXPECT_THAT(text, HasSubstr("id=\"port.state\",status=\"fail\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("id=\"port.rate\",status=\"skip\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("status=\"fail\"} 1\n"));
}

TEST(Page, HasACauseFirstAndEveryCheckFolded) {
  const std::vector<Document> documents = cause_and_symptom();
  const std::vector<Section> sections = kDoctorKind.details(documents[0]);
  ASSERT_EQ(sections.size(), 1U);
  EXPECT_FALSE(sections[0].open);
  ASSERT_EQ(sections[0].rows.size(), 2U);
  EXPECT_EQ(sections[0].rows[0].cells[1].text, "port.state");
  EXPECT_EQ(sections[0].rows[1].cells[7].text, "port mlx5_0:1 is down");
}

TEST(Junit, ACellOfAFabricIsATestcase) {
  const pugi::xml_document xml = junit(parse_documents(fabric_text(), "f"));
  EXPECT_EQ(xml.select_nodes("//testcase[@classname='fabric.pair']").size(), 24);
  EXPECT_EQ(xml.select_nodes("//testcase[@classname='fabric.pair'][failure]").size(), 1);
  EXPECT_EQ(xml.select_nodes("//testcase[@classname='fabric.sender'][failure]").size(), 1);
  EXPECT_THAT(xml.select_node("//testcase[@classname='fabric.sender']/failure").node().text().get(),
              HasSubstr("action: change setting\n"));
  EXPECT_EQ(xml.select_nodes("//testcase[@classname='fabric.node'][failure]").size(), 1);
}

TEST(Writers, SayFirstThatNodesOfAFabricWereLost) {
  const std::string headline =
      "1 of 3 nodes lost: node 2 (node2); among the other 2 there is 1 finding";
  const auto documents = parse_documents(fabric_text(), "f");
  const pugi::xml_document xml = junit(documents);
  const pugi::xml_node first = xml.select_node("//testcase").node();
  EXPECT_STREQ(first.attribute("name").value(), "nodes lost [the verdict]");
  EXPECT_EQ(first.child("failure").attribute("message").value(), headline);
  EXPECT_THAT(to_markdown(documents), HasSubstr("\n\n**" + headline + "**\n\n**"));
}

/// One plan of two nodes and one measurement between them, and what comes after.
std::vector<Document> small_fabric(const std::string& rest) {
  return parse_documents(
      R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[{"rank":0,"host":"a"},{"rank":1,"host":"b"}],"plan":{"latency_sizes_bytes":[16]}}
{"record":"measurement","sender":0,"receiver":1,"metric":"bandwidth","size_bytes":8,"value":1e9}
)" + rest,
      "f");
}

TEST(Writers, AFabricRunThatWasKilledIsAnError) {
  const auto killed = small_fabric("");
  const pugi::xml_document xml = junit(killed);
  EXPECT_EQ(xml.child("testsuites").attribute("errors").as_uint(), 1);
  EXPECT_THAT(xml.select_node("//testcase/error").node().attribute("message").value(),
              HasSubstr("did not come to its end"));
  EXPECT_THAT(to_prometheus(killed), HasSubstr("status=\"error\"} 1\n"));
  EXPECT_THAT(to_markdown(killed), HasSubstr("**1 error**"));
  EXPECT_THAT(to_markdown(killed), HasSubstr("| 16 | 0 | 0 |\n"));
}

TEST(Writers, AFindingOfSeveralLaunchesCountsOnce) {
  std::string text;
  for (const char* const which : {"launch", "over_launches"}) {
    for (int number = which[0] == 'l' ? 1 : 2; number <= 2; ++number) {
      text += fmt::format(
          R"({{"schema":"rdmabench-fabric/1","record":"plan","{}":{},"plan":{{}},)"
          R"("nodes":[{{"rank":0,"host":"a"}},{{"rank":1,"host":"b"}}]}})"
          "\n"
          R"({{"record":"verdict","summary":"1 finding","findings":[{{"part":"sender","a":0,)"
          R"("metric":"latency","size_bytes":8,"confirmed":true,"text":"slow"}}]}})"
          "\n",
          which, number);
    }
  }
  const std::vector<Document> all = parse_documents(text, "run.jsonl");
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(junit(all).child("testsuites").attribute("failures").as_uint(), 1U);
  EXPECT_THAT(to_html(all, ""), HasSubstr(R"("text":"1 FAIL")"));
  const auto times = [](const std::string& whole, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = whole.find(part, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(times(to_prometheus(all), "rdmabench_finding{"), 1);
  EXPECT_EQ(times(to_csv(all), ",judgement,"), 1);
  std::string before = text.substr(0, text.find('\n', text.find("verdict")) + 1);
  const std::string_view launch = R"("launch":1,)";
  before.erase(before.find(launch), launch.size());
  EXPECT_EQ(junit(parse_documents(before + text, "week.jsonl"))
                .child("testsuites")
                .attribute("failures")
                .as_uint(),
            2U)
      << "a run that is none of those launches";
  EXPECT_EQ(times(to_markdown(all), "**1 fail**"), 1);
  const std::span first = std::span(all).first(2);  // of a run that was killed
  EXPECT_EQ(times(to_markdown(first), "**1 fail**"), 2);
}

TEST(Writers, NoTwoCasesOfJunitHaveOneName) {
  const pugi::xml_document xml = junit(small_fabric(
      R"({"record":"verdict","findings":[],"not_judged":["bandwidth of 1M: too few.","bandwidth of 1M: too many.","One rail: what.","Nobody."]})"));
  std::set<std::string> names;
  std::size_t cases = 0;
  for (const pugi::xpath_node& one : xml.select_nodes("//testcase[@classname='fabric']")) {
    names.insert(one.node().attribute("name").value());
    ++cases;
  }
  EXPECT_EQ(names.size(), cases);
  for (const char* const name :
       {"not judged: bandwidth of 1M [the verdict]",
        "not judged: bandwidth of 1M [the verdict] (2)", "not judged: One rail [the verdict]",
        "not judged [the verdict]"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Writers, AFabricThatLacksFieldsReadsAsItIs) {
  const std::string text = to_markdown(small_fabric(
      R"({"record":"lost","round":1,"reason":"gone"}
{"record":"measurement","sender":0,"receiver":1,"metric":"bandwidth","size_bytes":1,"error":"this"}
{"record":"measurement","sender":0,"receiver":1,"metric":"bandwidth","size_bytes":2,"error":"that"}
{"record":"verdict","findings":[],"links":{"directions":4,"crossed":3}})"));
  EXPECT_THAT(text, HasSubstr(": this\n"));
  EXPECT_THAT(text, HasSubstr(": that\n"));
  EXPECT_THAT(text, HasSubstr("\n- 3 of 4 directions"));
}

TEST(Writers, ASlowPairOfLatencyHasLessOfTypicalToo) {
  const std::string text = to_markdown(small_fabric(
      R"({"record":"measurement","sender":0,"receiver":1,"metric":"latency","size_bytes":16,"value":1000}
{"record":"measurement","sender":1,"receiver":0,"metric":"latency","size_bytes":16,"value":2000}
{"record":"verdict","findings":[]})"));
  EXPECT_THAT(text, HasSubstr("| 2 us | 50 % |\n"));
}

TEST(Writers, AVerdictThatJudgesNobodyIsNoPass) {
  const auto verdict = [](const char* bandwidth, const char* latency, const char* not_judged) {
    return small_fabric(
        fmt::format(R"({{"record":"verdict","findings":[],"not_judged":[{}],"nodes":[)"
                    R"({{"metric":"bandwidth","size_bytes":8,"rank":0,"verdict":"{}"}},)"
                    R"({{"metric":"latency","size_bytes":8,"rank":0,"verdict":"{}"}}]}})",
                    not_judged, bandwidth, latency));
  };
  const auto nobody = verdict("not-enough-evidence", "ambiguous", R"("Two nodes.")");
  const pugi::xml_document xml = junit(nobody);
  EXPECT_EQ(xml.child("testsuites").attribute("skipped").as_uint(), 3);
  EXPECT_STREQ(xml.select_node("//testcase/skipped").node().attribute("message").value(),
               "not judged: Two nodes.");
  EXPECT_THAT(to_prometheus(nobody), HasSubstr("status=\"skip\"} 3\n"));
  EXPECT_THAT(to_markdown(nobody), HasSubstr("**3 skip**"));
  EXPECT_THAT(to_markdown(nobody), Not(HasSubstr("pass**")));
  EXPECT_THAT(to_markdown(verdict("good", "lost", "")), HasSubstr("**1 skip**"));
  EXPECT_THAT(to_markdown(verdict("good", "good", "")), HasSubstr("**1 pass**"));
  EXPECT_THAT(to_markdown(verdict("good", "good", R"("One rail.")")), Not(HasSubstr("pass**")));
  EXPECT_THAT(to_markdown(small_fabric(R"({"record":"verdict","findings":[]})")),
              HasSubstr("**1 skip**"));
}

TEST(Writers, AProjectionThatIsNotRdmaIsNoPass) {
  const std::vector<Document> list = parse_documents(
      R"({"schema": "rdmabench-project/1", "axis": "nodes", "a": {"name": "a"}, "rows": [],
          "summary": "NOT RDMA: over TCP. It takes 1 s.", "not_rdma": "NOT RDMA: over TCP."})",
      "p.json");
  EXPECT_THAT(to_markdown(list), HasSubstr("# 1 document: WARN"));
  EXPECT_THAT(to_prometheus(list), HasSubstr("rdmabench_not_rdma{source=\"p.json\","));
}

TEST(Writers, ARunWithoutAResultIsAnError) {
  const auto empty =
      parse_documents(R"({"schema":"rdmabench/1","test":"latency","results":[]})", "l");
  const pugi::xml_document xml = junit(empty);
  EXPECT_EQ(xml.child("testsuites").attribute("errors").as_uint(), 1);
  EXPECT_THAT(xml.select_node("//testcase/error").node().attribute("message").value(),
              HasSubstr("no result"));
  EXPECT_THAT(to_prometheus(empty), HasSubstr("status=\"error\"} 1\n"));
  EXPECT_THAT(to_markdown(empty), HasSubstr("**1 error**"));
  const pugi::xml_document failed = junit(parse_documents(to_json(failed_sample()), "l"));
  EXPECT_EQ(failed.child("testsuites").attribute("tests").as_uint(), 1) << "told once";
}

TEST(Junit, OfALargeFabricOnlyFailures) {
  std::vector<Document> documents = parse_documents(fabric_text(), "f");
  documents[0].pairs.resize(kJunitCells + 1, documents[0].pairs[0]);
  const pugi::xml_document xml = junit(documents);
  EXPECT_EQ(xml.select_nodes("//testcase").size(), 4);
  EXPECT_TRUE(xml.select_node("//property[@name='cells']"));
}

TEST(Junit, NoWordBecomesMarkup) {
  const pugi::xml_document xml = junit(every_document());
  EXPECT_EQ(xml.select_nodes("//img").size(), 0);
  EXPECT_EQ(to_junit(every_document()).find('\x1b'), std::string::npos);
}

/// Of each schema, with values of every type but the right one.
std::vector<Document> odd_documents() {
  return parse_documents(
      R"([{"schema":"rdmabench-doctor/1","host":{"a":1},"findings":[{"status":7,"evidence":"x","remedy":[1]}]},
          {"schema":"rdmabench/1","test":"latency","environment":5,"resolved":[],"suspicions":[7],
           "results":[{"size_bytes":"x","notes":3},{"size_bytes":-8,"p50_ns":"fast","max_ns":-1e300,"stable":0}]},
          {"schema":"rdmabench/1","test":[],"error":{},"errors":{},"results":[{}]},
          {"schema":"rdmabench-compare/1","families":[{"cells":3},{"cells":[null,{"estimate":5}]}]},
          {"schema":"rdmabench-project/1","axis":7,"rows":[{},{"value":"x","a":1,"difference":"y"}],"assumptions":[3]},
          {"schema":"rdmabench-fabric/1","record":"plan","nodes":[{"rank":0,"host":5,"rails":"x"}],"plan":[1]},
          {"schema":"rdmabench-fabric/1","record":"lost","rank":"x"},
          {"schema":"rdmabench-fabric/1","record":"measurement","sender":0,"receiver":0,"rail":9,
           "metric":"latency","size_bytes":0,"value":1e-300},
          {"schema":"rdmabench-fabric/1","record":"verdict","findings":[{"a":"x","b":[],"rail":-1,"part":5}],
           "not_judged":[{}]}])",
      "odd");
}

TEST(Writers, TakeOddTypesForNothing) {
  const std::vector<Document> odd = odd_documents();
  EXPECT_EQ(odd.size(), 6);
  EXPECT_THAT(to_csv(odd), HasSubstr("odd#1"));
  EXPECT_THAT(to_markdown(odd), HasSubstr("odd\\#6"));
  EXPECT_THAT(to_prometheus(odd), HasSubstr("odd#6"));
  EXPECT_EQ(junit(odd).select_nodes("//testsuite").size(), 6);
}

/// Every line of the format, by its grammar.
TEST(Prometheus, EveryLineIsOneOfTheFormat) {
  const std::regex line(
      R"(# (HELP|TYPE) rdmabench_[a-z_]+ .+|(rdmabench_[a-z_]+)(\{([a-z_]+="([^"\\]|\\["\\n])*",?)*\})? [-+0-9.e]+)");
  std::set<std::string> families;
  std::set<std::string> series;
  std::string family;
  for (const std::string& one : lines(to_prometheus(every_document()))) {
    EXPECT_TRUE(std::regex_match(one, line)) << one;
    if (one.rfind("# HELP ", 0) == 0) {
      family = one.substr(7, one.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << family << " comes twice";
    } else if (one[0] != '#') {
      EXPECT_THAT(one, StartsWith(family));
      EXPECT_TRUE(series.insert(one.substr(0, one.rfind(' '))).second) << one;
    }
  }
}

TEST(Prometheus, HasBaseUnits) {
  const std::string text = to_prometheus(parse_documents(to_json(latency_sample()), "l"));
  EXPECT_THAT(text, HasSubstr("# TYPE rdmabench_latency_seconds gauge\n"));
  EXPECT_THAT(text, HasSubstr("size_bytes=\"8\",percentile=\"50\"} 1.25e-06\n"));
  EXPECT_THAT(text, HasSubstr("client=\"left\",server=\"right\""));
}

TEST(Prometheus, LeavesOutWhatTheSamplesDoNotSupport) {
  const std::string text = to_prometheus(parse_documents(to_json(latency_sample()), "l"));
  EXPECT_THAT(text, Not(HasSubstr("size_bytes=\"8\",percentile=\"99.9\"")));
  EXPECT_THAT(text, HasSubstr("size_bytes=\"65536\",percentile=\"99.9\""));
}

TEST(Prometheus, TheSameTwiceIsToldApart) {
  std::vector<Document> twice = parse_documents(to_json(latency_sample()), "l");
  twice.push_back(twice[0]);
  EXPECT_THAT(to_prometheus(twice), HasSubstr("percentile=\"50\",repeat=\"2\"}"));
}

TEST(Prometheus, NodesOfAFabricAndNotPairs) {
  const std::string text = to_prometheus(parse_documents(fabric_text(), "f"));
  EXPECT_THAT(text, HasSubstr("node=\"node0\",rank=\"0\",rail=\"mlx5_0\",role=\"sender\","
                              "size_bytes=\"1048576\"} 200000000000\n"));
  EXPECT_THAT(text, HasSubstr("rdmabench_fabric_lost_nodes{source=\"f\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("rdmabench_fabric_failed_measurements{source=\"f\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("role=\"sender\",size_bytes=\"1048576\",metric=\"bandwidth\"} 0.5\n"));
}

TEST(DocumentsCsv, HasARowForEachMeasurementAndJudgement) {
  const std::string text = to_csv(parse_documents(fabric_text(), "f"));
  std::size_t rows = 0;
  for (std::size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos; ++at) ++rows;
  EXPECT_EQ(rows, 1 + 24 + 3);
  EXPECT_THAT(text, StartsWith("source,schema,kind,"));
  EXPECT_THAT(text, HasSubstr("no answer within 5 s"));
}

TEST(DocumentsCsv, HasTheColumnsOfItsDocumentsAlone) {
  const auto columns_of = [](const std::string& document) {
    const std::string text = to_csv(parse_documents(document, "f"));
    return text.substr(0, text.find("\r\n"));
  };
  const std::string latency = columns_of(to_json(latency_sample()));
  EXPECT_THAT(latency, HasSubstr(",p50_ns,"));
  EXPECT_THAT(latency, HasSubstr(",complete,"));
  EXPECT_THAT(latency, Not(HasSubstr("bits_per_s")));
  EXPECT_THAT(columns_of(to_json(bandwidth_sample())), Not(HasSubstr("_ns,p")));
  const std::string collective =
      columns_of(R"({"schema": "rdmabench-coll/1", "results": [{"operation": "all-reduce",
                    "p50_ns": 1, "algorithm_bytes_per_s": 2, "bus_bytes_per_s": 3}]})");
  for (const char* const column : {"p50_ns", "algorithm_bytes_per_s", "bus_bytes_per_s"}) {
    EXPECT_THAT(collective, HasSubstr(column));
  }
}

TEST(Judgements, OfCollectivesAreWhatWasRequiredAndWhoWasBisected) {
  const std::string text = to_markdown(parse_documents(
      R"({"schema": "rdmabench-coll/1", "backend": "mpi", "unmet": ["'eth0' carried no bytes."],
          "bisected": {"suspects": ["n3"], "text": "Node n3 is slow."},
          "results": [{"operation": "all-reduce", "size_bytes": 8}]})",
      "f"));
  EXPECT_THAT(text, HasSubstr("2 fail"));
  EXPECT_THAT(text, HasSubstr("'eth0' carried no bytes."));
  EXPECT_THAT(text, HasSubstr("Node n3 is slow."));
}

TEST(Judgements, WrongDataFailWithoutAPlaceToo) {
  const auto documents = parse_documents(
      R"({"schema": "rdmabench-coll/1", "backend": "nccl", "results": [{"operation": "all-reduce",
          "size_bytes": 8, "wrong": {"wrong_elements": 4, "first": null}}]})",
      "f");
  EXPECT_THAT(to_markdown(documents), HasSubstr("1 fail"));
  EXPECT_THAT(to_junit(documents), HasSubstr("4 wrong elements"));
}

TEST(DocumentsCsv, EveryRowHasEveryColumn) {
  const std::string text = to_csv(every_document());
  std::size_t columns = 1;
  std::size_t wanted = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (!quoted && text[i] == ',') ++columns;
    if (!quoted && text[i] == '\r') {
      if (wanted == 0) wanted = columns;
      ASSERT_EQ(columns, wanted) << "before byte " << i;
      columns = 1;
    }
  }
}

TEST(DocumentsCsv, NothingIsAFormula) {
  auto documents = parse_documents(doctor_text(), "=cmd()");
  EXPECT_THAT(to_csv(documents), HasSubstr("\r\n'=cmd(),"));
}

TEST(Markdown, TellsFailuresFirst) {
  const std::string text = to_markdown(parse_documents(doctor_text(), "d.json"));
  EXPECT_THAT(text, HasSubstr("**1 fail**, **2 error**, **1 warn**, **1 skip**, **1 pass**"));
  EXPECT_LT(text.find("| fail | port.FAIL"), text.find("| warn | port.WARN"));
  EXPECT_THAT(text, HasSubstr("Start a subnet manager."));
}

TEST(Writers, WhatSeveralDocumentsSayIsOneLineThatNamesThem) {
  std::vector<Document> all;
  for (const char* const file : {"a.json", "b.json"}) {
    Report report = latency_sample();
    report.suspicions = {{.code = "noise", .text = file, .summary = "the machine is noisy"}};
    all.push_back(to_document(report));
    all.back().source = file;
  }
  const std::string text = to_markdown(all);
  EXPECT_THAT(text, HasSubstr("| 2 places: a.json, "));
  EXPECT_THAT(text, HasSubstr("; b.json, "));
  EXPECT_EQ(text.find("the machine is noisy"), text.rfind("the machine is noisy"));
  EXPECT_LT(text.find("2 places"), text.find("\n## a.json"));
  EXPECT_THAT(to_html(all, ""), HasSubstr("2 places in a.json, b.json: suspect: noise"));
}

TEST(Markdown, NoWordBecomesMarkup) {
  const std::string text = std::regex_replace(to_markdown(every_document()),
                                              std::regex("</?(details|summary)>"), "");  // our own
  EXPECT_FALSE(std::regex_search(text, std::regex(R"((^|[^\\])[<>`|*]img|[^\\]<)")));
  EXPECT_THAT(text, HasSubstr("\\<img src=x"));
  EXPECT_THAT(text, Not(HasSubstr("@all")));
  for (const std::string& line : lines(text)) {
    if (line.rfind("| fail", 0) == 0) {
      EXPECT_THAT(line, testing::EndsWith(" |"));
    }
  }
}

TEST(Markdown, HasTheNodesOfAFabricTheWorstFirst) {
  const std::string text = to_markdown(parse_documents(fabric_text(), "f"));
  const std::regex row(R"(\| \S+ \S+s \| (\d+) \| \S+ \S+s \| (\d+) \|)");
  std::vector<int> least;  // of each node's two shares
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at) {
    least.push_back(std::min(std::stoi((*at)[1]), std::stoi((*at)[2])));
  }
  ASSERT_EQ(least.size(), 12);
  EXPECT_TRUE(std::is_sorted(least.begin(), least.end()));
  EXPECT_EQ(least.front(), 50);
  EXPECT_EQ(least.back(), 100);
}

TEST(Markdown, AFabricHasOneTypicalValueAndTheDevicesOfItsRails) {
  std::string lines = R"({"schema":"rdmabench-fabric/1","record":"plan","plan":{},"nodes":[)"
                      R"({"rank":0,"host":"a","rails":["auto"]},{"rank":1,"host":"b"}]})"
                      "\n";
  for (const char* const confirming : {"false", "true"}) {
    lines += fmt::format(
        R"({{"record":"measurement","round":0,"sender":0,"receiver":1,"rail":0,"metric":"bandwidth",)"
        R"("size_bytes":1048576,"value":4e9,"p99_ns":null,"error":null,"notes":[],"confirming":{},)"
        R"("over":"ofi, provider tcp, device eth7"}})"
        "\n",
        confirming);
  }
  lines += R"({"record":"verdict","findings":[],"typical":[{"metric":"bandwidth",)"
           R"("size_bytes":1048576,"value":8e9}]})"
           "\n";
  const std::vector<Document> documents = parse_documents(lines, "f");
  const std::string text = to_markdown(documents);
  EXPECT_THAT(text,
              HasSubstr("| bandwidth | 1M | node 0 (a) | node 1 (b) | eth7 | 4 Gb/s | 50 % |"));
  EXPECT_THAT(text, HasSubstr("| 1M | 1 | 0 | 8 Gb/s |"));
  EXPECT_THAT(text, HasSubstr("| node 0 (a) | eth7 | bandwidth | 1M | 4 Gb/s | 50 |"));
  EXPECT_THAT(to_html(documents, ""), HasSubstr(R"("rails":["eth7"])"));
}

TEST(Markdown, TellsVerdicts) {
  const std::string text = to_markdown(parse_documents(compare_text(), "c"));
  EXPECT_THAT(text, HasSubstr("**Verdict: CONFOUNDED, as they stand DIFFERENT**"));
  EXPECT_THAT(text, HasSubstr("| 8 | 2 us | 2.5 us | +25 % | +20 % to +30 % | EQUIVALENT |"));
}

TEST(Markdown, AMetricWithoutValuesIsOneLine) {
  std::string cells;
  for (const int size : {8, 64, 512}) {
    cells +=
        fmt::format(R"({}{{"size_bytes":{},"unit":"ns","verdict":"REFUSED","reason":"too few"}})",
                    cells.empty() ? "" : ",", size);
  }
  const std::string text = to_markdown(parse_documents(
      R"({"schema":"rdmabench-compare/1","verdict":"EQUIVALENT","families":[{"test":"latency",)"
      R"("operation":"write","kind":"half_round_trip","metric":"p99.9","cells":[)" +
          cells + "]}]}",
      "c"));
  EXPECT_THAT(text,
              HasSubstr("write latency p99.9 (half round trip): REFUSED at all 3 sizes: too few"));
  EXPECT_EQ(text.find("REFUSED"), text.rfind("REFUSED"));
}

TEST(Html, SaysWhatOfNodesDiffersAndHowManyChecksWereNotMade) {
  std::vector<Document> nodes;
  for (int i = 0; i < 6; ++i) {
    const std::string json = fmt::format(
        R"({{"schema":"rdmabench-doctor/1","host":"n{}","findings":[{{"id":"device.firmware",)"
        R"("group":"device","title":"Firmware","subject":"mlx5_0","status":"{}","reason":"",)"
        R"("observed":"{}","expected":"28.43, as 3 of 5 peers have"}},{{"id":"gpu.ecc","group":)"
        R"("gpu","title":"ECC","subject":"node","status":"SKIP","reason":"no GPU"}}]}})",
        i, i < 3 ? "PASS" : "WARN",
        i < 3    ? "28.43"
        : i == 3 ? "28.38"
                 : "28.39");
    nodes.push_back(parse_documents(json, "n").at(0));
  }
  EXPECT_THAT(
      to_html(nodes, ""),
      testing::AllOf(
          HasSubstr("3 places: device.firmware: Firmware: 28.39 (2), 28.38 (1); expected "
                    "28.43, as 3 of 5 peers have"),
          HasSubstr("6 checks are SKIP: most do not apply there."), Not(HasSubstr("6 SKIP\""))));
}

/// A comparison of one bandwidth, three times that of A, under names.
Document improvement(const std::string& fail_on, double adjusted = 0.001) {
  return parse_documents(fmt::format(R"({{"schema":"rdmabench-compare/1","verdict":"DIFFERENT",
      "as_they_stand":"DIFFERENT","direction":"better","summary":"roce is BETTER than ib: all of it.",
      "failed":false,"settings":{{"alpha":0.05,"fail_on":[{}]}},"a":{{"name":"ib"}},
      "b":{{"name":"roce"}},"confounds":[],"families":[{{"test":"bandwidth","operation":"write",
      "metric":"bandwidth","cells":[{{"size_bytes":64,"unit":"bits_per_s","a":1e9,"b":3e9,
      "verdict":"DIFFERENT","direction":"better","p_beyond_margin_holm":{},
      "estimate":{{"ratio":3,"ratio_low":2.5,"ratio_high":3.5}}}}]}}],"notes":["a note"]}})",
                                     fail_on, adjusted),
                         "c")
      .at(0);
}

std::uint64_t failures(const Document& document) {
  return junit({document}).child("testsuites").attribute("failures").as_uint();
}

TEST(Junit, AnImprovementIsNoFailure) {
  EXPECT_EQ(failures(improvement("\"worse\"")), 0U);
  EXPECT_EQ(failures(improvement("\"different\"")), 1U) << "as it was asked for";
  EXPECT_EQ(failures(improvement("\"different\"", 0.2)), 0U) << "not after the correction";
  const pugi::xml_document xml = junit({improvement("")});
  EXPECT_TRUE(xml.select_node("//testcase[@name='write bandwidth 64 [roce against ib]']"));
  EXPECT_TRUE(xml.select_node("//testcase[@name='the verdict [roce against ib]']"));
}

TEST(Junit, AnOlderComparisonHasTheDirectionOfItsMetric) {
  // One cell is DIFFERENT: a latency that rose.
  EXPECT_EQ(failures(parse_documents(compare_text(), "c").at(0)), 1U);
  std::string fell = compare_text();
  for (std::size_t at = 0; (at = fell.find("1.25", at)) != std::string::npos;) fell[at] = '0';
  EXPECT_EQ(failures(parse_documents(fell, "c").at(0)), 0U);
}

TEST(Markdown, SaysTheVerdictFirstAndFoldsTheDetails) {
  const std::string text = to_markdown(std::vector{improvement("\"worse\"")});
  EXPECT_THAT(text, HasSubstr("\n\n**roce is BETTER than ib: all of it.**\n\n**2 pass**"));
  EXPECT_THAT(text, HasSubstr("| size | ib | roce | change |"));
  EXPECT_THAT(text, HasSubstr("| 1 Gb/s | 3 Gb/s | 3 times | 2.5 times to 3.5 times | BETTER |"));
  EXPECT_LT(text.find("BETTER |"), text.find("<details>"));
  EXPECT_LT(text.find("<details>"), text.find("- a note"));
}

TEST(Writers, AnIntervalThatIsNoiseIsNoNumber) {
  const std::vector<Document> noisy = parse_documents(
      R"({"schema":"rdmabench-compare/1","verdict":"INCONCLUSIVE","a":{"name":"x"},"b":{"name":"y"},
          "families":[{"test":"latency","operation":"send","metric":"p50","cells":[{"size_bytes":64,
          "a":1000,"b":1100,"unit":"ns","verdict":"INCONCLUSIVE","obstacle":"noise",
          "estimate":{"ratio":1.1,"ratio_low":0.2,"ratio_high":14}}]}]})",
      "c");
  EXPECT_THAT(to_markdown(noisy), HasSubstr("| 1.1 us | too noisy to compare |"));
  EXPECT_THAT(to_junit(noisy), HasSubstr("INCONCLUSIVE: too noisy to compare"));
  EXPECT_THAT(to_csv(noisy), HasSubstr(",14"));
}

TEST(Markdown, HasTheCostAndTheBoundsOfAProjection) {
  const auto documents = parse_documents(
      R"({"schema":"rdmabench-project/1","summary":"roce is better from 2 nodes on.","axis":"nodes",
      "a":{"name":"ib"},"b":{"name":"roce"},"rows":[{"value":2.0,"a":{"step_s":2.0,"cost_per_step":
      0.25,"nothing_hidden_s":2.5,"all_hidden_s":1.5},"b":{"step_s":1.0,"cost_per_step":0.125,
      "nothing_hidden_s":1.25,"all_hidden_s":0.75},"difference":{"ratio":0.5,"verdict":"DIFFERENT",
      "direction":"better"}}]})",
      "p");
  const std::string text = to_markdown(documents);
  EXPECT_THAT(text, HasSubstr("**roce is better from 2 nodes on.**"));
  EXPECT_THAT(text, HasSubstr("| nodes | ib | roce | change | verdict |"));
  EXPECT_THAT(text, HasSubstr("| 2 | 2 s | 1 s | 0.5 times | BETTER |"));
  EXPECT_THAT(text, HasSubstr("| 2 | 0.25 | 0.125 |"));
  EXPECT_THAT(text, HasSubstr("| 2 | 2.5 s | 1.5 s | 1.25 s | 750 ms |"));
  EXPECT_TRUE(junit(documents).select_node("//testcase[@name='nodes 2 [roce against ib]']"));
}

TEST(Markdown, PrintsAPlan) {
  const auto plan = parse_documents(
      R"({"schema":"rdmabench-compare/1","plan":{"launches_per_side":23},"notes":[]})", "p");
  EXPECT_THAT(to_markdown(plan), HasSubstr("Plan:\n\n23 launches of each side"));
  EXPECT_EQ(junit(plan).select_nodes("//testcase").size(), 0);
}

TEST(Markdown, PrintsAProjectionWithItsAssumptions) {
  const std::string text = to_markdown(parse_documents(project_text(), "p"));
  EXPECT_THAT(text, HasSubstr("| 8 | 1.5 s | 1.5 s | +0 % | -1 % to +1 % | EQUIVALENT |"));
  EXPECT_THAT(text, HasSubstr("| 8 | 1.5 s | 1.25 s | 1.75 s |"));
  EXPECT_THAT(text, HasSubstr("| 4096 | - | - | - | - | skip: refused: too few samples |"));
  EXPECT_THAT(text, testing::ContainsRegex("\\| overlap \\| .* \\| 0.5 "));
}

TEST(Html, NoWordLeavesTheData) {
  const std::string page = to_html(every_document(), "<now>");
  const std::string open = R"(<script type="application/json" id="data">)";
  const std::size_t begin = page.find(open) + open.size();
  const std::string data = page.substr(begin, page.find("</script>", begin) - begin);
  EXPECT_EQ(data.find_first_of("<>&"), std::string::npos);
  for (const char c : data) ASSERT_GE(static_cast<unsigned char>(c), 0x20);
  for (const char c : data) ASSERT_LT(static_cast<unsigned char>(c), 0x7f);
  const auto json = nlohmann::json::parse(data);
  EXPECT_EQ(json["generated"], "<now>");
  EXPECT_EQ(json["documents"][0]["body"]["nodes"][1]["host"], terminal_safe(kHostileName));
  EXPECT_EQ(json["documents"][0]["series"].size(), 4);
  EXPECT_EQ(json["documents"][0]["errors"].size(), 1);
  EXPECT_EQ(json["documents"][0]["errors"][0]["confirming"], false);
}

/// What the page draws.
nlohmann::json page_data(const std::vector<Document>& documents) {
  const std::string page = to_html(documents, "now");
  const std::string open = R"(<script type="application/json" id="data">)";
  const std::size_t begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(Html, WhatToLookAtFirstIsTheWorst) {
  const auto data = page_data(every_document());
  std::vector<std::string> statuses;
  for (const auto& one : data["first"]["counts"]) statuses.push_back(one["status"]);
  EXPECT_EQ(statuses, (std::vector<std::string>{"FAIL", "ERROR", "WARN"}));
  const auto& points = data["first"]["points"];
  ASSERT_FALSE(points.empty());
  EXPECT_EQ(points[0]["status"], "FAIL");
  EXPECT_THAT(points[0]["text"].get<std::string>(), HasSubstr("1 of 3 nodes lost"));
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto place = [&](const auto& status) {
      return std::find(statuses.begin(), statuses.end(), status);
    };
    EXPECT_LE(place(points[i - 1]["status"]), place(points[i]["status"]));
  }
}

TEST(Html, WhatManyPairsShareIsToldOnceAndNoTableIsOfAllPairs) {
  constexpr std::size_t kPairs = 50'000;
  std::vector<Document> documents = parse_documents(fabric_text(), "f");
  const auto failed = std::find_if(documents[0].pairs.begin(), documents[0].pairs.end(),
                                   [](const PairMeasurement& one) { return !one.error.empty(); });
  ASSERT_NE(failed, documents[0].pairs.end());
  documents[0].pairs.resize(kPairs, PairMeasurement(*failed));
  const auto data = page_data(documents);
  const auto& part = data["parts"][0];
  std::size_t rows = part["found"]["rows"].size();
  EXPECT_LT(rows, 10);
  EXPECT_THAT(part["found"].dump(), HasSubstr("49977 places"));
  for (const auto& section : part["sections"]) {
    rows += section["rows"].size();
    if (section["title"] != "Measurements that failed") continue;
    EXPECT_EQ(section["words"].size(), 1) << "they are alike";
    EXPECT_THAT(section["words"].dump(), HasSubstr("(and 49976 more like it)"));
  }
  EXPECT_LT(rows, 300);
  EXPECT_LT(to_markdown(documents).size(), 100'000);
  json_of(documents[0])["lost"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < kPairs; ++i) {
    if (documents[0].pairs[i].error.empty()) continue;
    std::string& error = documents[0].pairs[i].error = std::to_string(i);
    for (char& c : error) c = static_cast<char>(c - '0' + 'a');
  }
  EXPECT_THAT(to_markdown(documents), HasSubstr("- 49777 more are left out.\n"));
  EXPECT_THAT(page_data(documents)["parts"][0].dump(), HasSubstr("\"49777 more are left out.\""));
}

TEST(Html, RunsOfOneTestStandInOneTableWithTheirNames) {
  std::vector<Document> runs = parse_documents(to_json(latency_sample()), "a.json");
  runs.push_back(parse_documents(to_json(latency_sample()), "b.json")[0]);
  const auto data = page_data(runs);
  ASSERT_EQ(data["parts"].size(), 1);
  EXPECT_EQ(data["parts"][0]["title"], "Latency");
  for (const auto& section : data["parts"][0]["sections"]) {
    if (section["title"] != "Every row") continue;
    EXPECT_EQ(section["columns"][0]["name"], "document");
    EXPECT_EQ(section["rows"].front()["cells"][0], "a.json");
    EXPECT_EQ(section["rows"].back()["cells"][0], "b.json");
  }
}

TEST(Writers, NoWordTurnsWhatFollowsOrCommandsATerminal) {
  const std::vector<Document> documents = every_document();
  for (const std::string& text :
       {to_csv(documents), to_markdown(documents), to_prometheus(documents), to_junit(documents)}) {
    EXPECT_THAT(text, HasSubstr("onerror"));
    for (const char* const odd : {"\xe2\x80\xae", "\xe2\x81\xa6", "\xc2\x9b", "\x1b"}) {
      EXPECT_THAT(text, Not(HasSubstr(odd)));
    }
  }
}

TEST(Html, ForbidsTheNetworkAndIsSmall) {
  const std::string page = to_html({}, "now");
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; script-src 'sha256-"));
  EXPECT_LT(page.size(), 1'000'000);
  EXPECT_THAT(page, Not(HasSubstr("src=\"")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
}

}  // namespace
}  // namespace rdmabench::inline v1::report
