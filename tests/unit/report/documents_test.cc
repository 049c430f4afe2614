#include "rdmabench/report/documents.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "../complaint.h"
#include "base/text.h"
#include "rdmabench/base/error.h"
#include "rdmabench/results/result.h"
#include "report/kinds.h"
#include "samples.h"

namespace rdmabench::inline v1::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(std::string_view text, const ReadLimits& limits = {}) {
  return complaint([&] { parse_documents(text, "x.json", "", limits); }, Fault::usage);
}

constexpr const char* kPlan =
    R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[{"rank":0,"host":"a"},{"rank":1,"host":"b"}],"plan":{"pattern":"full"}})"
    "\n";
constexpr const char* kMeasurement =
    R"({"record":"measurement","round":0,"sender":0,"receiver":1,"rail":0,"metric":"bandwidth","size_bytes":1048576,"value":1e11,"p99_ns":null,"error":null,"confirming":false})"
    "\n";

TEST(Documents, ReadsWhatTheWriterOfRunsWrites) {
  const std::vector<Report> reports{latency_sample(), bandwidth_sample()};
  const auto one = parse_documents(to_json(reports[0]), "lat.json");
  ASSERT_EQ(one.size(), 1);
  EXPECT_EQ(one[0].source, "lat.json");
  EXPECT_EQ(one[0].schema, kRunSchema);
  EXPECT_EQ(json_of(one[0])["results"].size(), 2);
  const auto two = parse_documents(to_json(reports), "demo.json");
  ASSERT_EQ(two.size(), 2);
  EXPECT_EQ(two[1].source, "demo.json#2");
}

TEST(Documents, ReadsWhatPeersMadeAsBadAsTheyCan) {
  EXPECT_EQ(parse_documents(to_json(hostile_sample()), "x").size(), 1);
}

TEST(Documents, OfEachKindAreInTheirPageAndHaveASchema) {
  const std::string docs = RDMABENCH_SOURCE_DIR "/docs/";
  std::ifstream file(docs + "report.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const DocumentKind* const kind : document_kinds()) {
    EXPECT_THAT(page, HasSubstr(fmt::format("`{}`", kind->schema)))
        << "docs/report.md, 'What it reads'";
    const std::string schema = replaced(kind->schema, {{'/', "-"}}) + ".schema.json";
    EXPECT_TRUE(std::filesystem::exists(docs + "schema/" + schema)) << docs << "schema/" << schema;
  }
}

TEST(Documents, ReadsALineForEachDocument) {
  const std::string line = R"({"schema":"rdmabench-doctor/1","host":"n","findings":[]})";
  EXPECT_EQ(parse_documents(line + "\n\n" + line + "\n", "x").size(), 2);
}

TEST(Documents, PutsTheRecordsOfAFabricTogether) {
  const std::string text = std::string(kPlan) + kMeasurement +
                           R"({"record":"lost","rank":1,"round":2,"reason":"dead"})"
                           "\n"
                           R"({"record":"something new"})"
                           "\n"
                           R"({"record":"verdict","findings":[]})"
                           "\n";
  const auto documents = parse_documents(text, "f.jsonl");
  ASSERT_EQ(documents.size(), 1);
  const Document& one = documents[0];
  EXPECT_EQ(json_of(one)["nodes"].size(), 2);
  EXPECT_EQ(json_of(one)["lost"][0]["rank"], 1);
  EXPECT_TRUE(json_of(one)["verdict"].is_object());
  ASSERT_EQ(one.pairs.size(), 1);
  EXPECT_EQ(one.pairs[0].receiver, 1);
  EXPECT_EQ(one.pairs[0].value, 1e11);
  EXPECT_FALSE(one.pairs[0].latency());
}

TEST(Documents, OfARunThatWasResumedTheLastAttemptCounts) {
  std::string again = kMeasurement;
  again.replace(again.find("1e11"), 4, "2e11");
  std::string other = kMeasurement;
  other.replace(other.find("\"round\":0"), 9, "\"round\":1");
  const auto documents =
      parse_documents(std::string(kPlan) + kMeasurement +
                          R"({"record":"lost","rank":1,"round":1,"reason":"dead"})"
                          "\n" +
                          kPlan + again + other,
                      "f.jsonl");
  ASSERT_EQ(documents.size(), 1);
  ASSERT_EQ(documents[0].pairs.size(), 2);
  EXPECT_EQ(documents[0].pairs[0].value, 2e11);
  EXPECT_EQ(json_of(documents[0])["lost"].size(), 0);
}

TEST(Documents, LeavesOutALastLineThatWasNotFinished) {
  const auto documents =
      parse_documents(std::string(kPlan) + kMeasurement + R"({"record":"measu)", "f.jsonl");
  ASSERT_EQ(documents.size(), 1);
  EXPECT_EQ(documents[0].pairs.size(), 1);
  ASSERT_EQ(documents[0].notes.size(), 1);
  EXPECT_THAT(documents[0].notes[0], HasSubstr("Line 3"));
}

TEST(Documents, ALineThatWasFinishedMustBeWhole) {
  EXPECT_THAT(refusal(std::string(kPlan) + "{\"record\":\n" + kMeasurement),
              HasSubstr("'x.json', line 2"));
}

TEST(Documents, AMeasurementWithoutAValueHasAnError) {
  const auto documents = parse_documents(
      std::string(kPlan) +
          R"({"record":"measurement","sender":0,"receiver":1,"metric":"latency","size_bytes":8,"value":0})",
      "f");
  EXPECT_NE(documents.at(0).pairs.at(0).error, "");
}

TEST(Documents, NamesTheLineOfWhatIsNoJson) {
  EXPECT_THAT(refusal("{\n \"schema\": \"rdmabench/1\",\n oops\n}"), HasSubstr("line 3"));
  EXPECT_THAT(refusal(""), HasSubstr("no document"));
  EXPECT_THAT(refusal("ELF"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("\xff\xfe{}"), HasSubstr("line 1"));
}

TEST(Documents, NamesTheLineOfANumberThatIsTooLarge) {
  EXPECT_THAT(refusal("{\"schema\": \"rdmabench/1\",\n \"results\": [\n{\"p50_ns\": 1e999}]}"),
              HasSubstr("'x.json', line 3: number overflow parsing '1e999'"));
  EXPECT_THAT(refusal(std::string(kPlan) + R"({"record":"measurement","value":-1e999})" + "\n"),
              HasSubstr("'x.json', line 2: number overflow parsing '-1e999'"));
}

TEST(Documents, NamesASchemaThatIsNotOurs) {
  EXPECT_THAT(refusal(R"({"schema":"other/1"})"), HasSubstr("\"other/1\""));
  EXPECT_THAT(refusal(R"({"schema":1})"), HasSubstr("no \"schema\""));
  EXPECT_THAT(refusal("[1]"), HasSubstr("not a document of rdmabench"));
}

TEST(Documents, AreValuesWithAText) {
  const Document one = to_document(latency_sample());
  Document copy = one;
  json_of(copy)["notes"] = {"of the copy alone"};
  EXPECT_NE(to_json(copy), to_json(one));
  EXPECT_EQ(to_json(parse_documents(to_json(copy), "x").at(0)), to_json(copy));
  copy = one;
  EXPECT_EQ(to_json(copy), to_json(one));
  const Document moved = std::move(copy);
  EXPECT_EQ(to_json(moved), to_json(one));
  EXPECT_EQ(to_json(Document()), "null\n");
}

TEST(Documents, HoldsABodyAgainstItsSchema) {
  EXPECT_THAT(refusal(R"({"schema":"rdmabench/1"})"), HasSubstr("\"results\""));
  EXPECT_THAT(refusal(R"({"schema":"rdmabench/1","results":[1]})"), HasSubstr("list of objects"));
  EXPECT_THAT(refusal(R"({"schema":"rdmabench-doctor/1","findings":{}})"), HasSubstr("findings"));
  EXPECT_THAT(refusal(R"({"schema":"rdmabench/1","documents":[1]})"), HasSubstr("documents"));
}

TEST(Documents, RefusesAFabricThatDoesNotFit) {
  EXPECT_THAT(refusal(kMeasurement), HasSubstr("before its plan"));
  const std::string plan = kPlan;
  EXPECT_THAT(refusal(plan + R"({"record":"measurement","sender":0})"
                             "\n"),
              HasSubstr("line 2: a measurement's \"receiver\""));
  EXPECT_THAT(
      refusal(plan +
              R"({"record":"measurement","sender":0,"receiver":1,"size_bytes":1,"metric":"x"})"
              "\n"),
      HasSubstr("\"metric\""));
  EXPECT_THAT(
      refusal(
          plan +
          R"({"record":"measurement","sender":0,"receiver":1,"size_bytes":1,"metric":"latency","value":"1"})"
          "\n"),
      HasSubstr("\"value\""));
  EXPECT_THAT(refusal(R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[1]})"),
              HasSubstr("\"nodes\""));
  EXPECT_THAT(refusal(R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[{}]})"),
              HasSubstr("\"rank\""));
}

TEST(Documents, RefusesARankThatThePlanDoesNotHave) {
  const std::string begin = R"({"schema":"rdmabench-fabric/1","record":"plan",)";
  EXPECT_THAT(refusal(begin + R"("nodes":[{"rank":1}]})"),
              has_all("line 1: \"rank\" is 1", "1 nodes"));
  for (const auto& [record, key] : {
           std::pair{R"({"record":"lost","rank":2})", "rank"},
           {R"({"record":"lost","rank":-1})", "rank"},
           {R"({"record":"measurement","sender":2,"receiver":1})", "sender"},
           {R"({"record":"measurement","sender":0,"receiver":4000000000})", "receiver"},
           {R"({"record":"verdict","findings":[{"part":"node","a":2}]})", "a"},
           {R"({"record":"verdict","findings":[{"part":"route","a":0,"b":1e300}]})", "b"},
           {R"({"record":"verdict","withdrawn":[{"part":"node","a":2}]})", "a"},
           {R"({"record":"verdict","nodes":[{"rank":2}]})", "rank"},
       }) {
    const std::string why = refusal(std::string(kPlan) + record + "\n");
    EXPECT_THAT(why, HasSubstr("'x.json', line 2: \"" + std::string(key) + "\" is")) << record;
    EXPECT_THAT(why, HasSubstr("2 nodes")) << record;
  }
  const std::string rail = R"({"record":"verdict","findings":[{"part":"rail","a":7}]})";
  EXPECT_EQ(parse_documents(std::string(kPlan) + rail, "x").size(), 1) << "a rail is no rank";
}

TEST(Documents, ReadsManyObjectsInTimeOfTheirNumber) {
  std::string text = R"({"list":[)";
  for (int i = 0; i < 300000; ++i) text += "{},";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(refusal(text + "0]}"), HasSubstr("schema"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));  // 0.1 s
}

TEST(Documents, KeepsItsLimits) {
  ReadLimits limits;
  limits.depth = 8;
  EXPECT_THAT(refusal(R"({"schema":"rdmabench/1","results":[{"a":[[[[[[[[[[]]]]]]]]]]}]})", limits),
              HasSubstr("deeper than 8"));
  EXPECT_THAT(refusal(std::string(1000, '[')), HasSubstr("deeper than 32"));
  EXPECT_THAT(refusal(R"({"schema":"rdmabench/1","x":"[[[[[[[[[[[[[[[[[["})", limits),
              Not(HasSubstr("deeper")));
  limits = {};
  limits.tool_bytes = 10;
  EXPECT_THAT(refusal("# nccl-tests version 2.17.1\n#       size         count\n", limits),
              HasSubstr("another tool printed"));
  limits = {};
  limits.document_bytes = 10;
  EXPECT_THAT(refusal(R"({"schema":"rdmabench/1","results":[]})", limits), HasSubstr("the most"));
  limits = {};
  limits.pairs = 1;
  EXPECT_THAT(refusal(std::string(kPlan) + kMeasurement + kMeasurement, limits),
              HasSubstr("more than 1 measurements"));
}

/// `head` opens the object.
std::string with_keys(const std::string& head, int keys) {
  std::string text = head;
  for (int i = 0; i < keys; ++i) text += fmt::format(",\"k{}\":0", i);
  return text + "}";
}

TEST(Documents, AnObjectHasSoManyKeysAtMostWhoeverWroteIt) {
  const std::string head = R"({"schema":"rdmabench/1","results":[])";
  EXPECT_EQ(parse_documents(with_keys(head, 254), "x").size(), 1U);
  for (const std::string& text :
       {with_keys(head, 255), with_keys(head, 0) + "\n" + with_keys(head, 255) + "\n",
        with_keys(R"({"nccl_version":22809,"args":["/a/all_reduce_perf"])", 300),
        "[" + with_keys(R"({"name":"AllReduce","algBw":1,"busBw":1,"inPlace":0)", 300) + "]",
        with_keys(R"({"test_info":{"test":"Send_BW"})", 300)}) {
    EXPECT_THAT(refusal(text), HasSubstr("an object of more than 256 keys"));
  }
}

TEST(Documents, OfAFolderWhatIsNoDocumentIsLeftOutAndNamed) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / "documents_test_folder";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::set<std::string> endings{".json", ".jsonl"};
  std::ofstream(folder / "node1.txt")
      << "                    Send BW Test\n"
         " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n"
         " 2          1000             1.50               1.00\n----\n";
  std::ofstream(folder / "node7.txt") << "Couldn't connect to node2:18515\n";
  const FolderDocuments both = read_folders({folder}, endings);
  ASSERT_EQ(both.documents.size(), 2U);
  EXPECT_EQ(json_of(both.documents[1])["error"], "Couldn't connect to node2:18515");
  EXPECT_TRUE(both.left_out.empty());

  std::ofstream(folder / "node8.txt") << "ssh: connection refused\n";
  const FolderDocuments read = read_folders({folder}, endings);
  EXPECT_EQ(read.documents.size(), 2U);
  ASSERT_EQ(read.left_out.size(), 1U);
  EXPECT_THAT(read.left_out[0], HasSubstr("node8.txt', line 1: neither JSON"));
  EXPECT_THROW(read_folders({folder, folder / "node8.txt"}, endings), Error) << "it is named";
  fs::remove(folder / "node1.txt");
  fs::remove(folder / "node7.txt");
  EXPECT_THAT(complaint([&] { read_folders({folder}, endings); }, Fault::usage),
              HasSubstr("node8.txt"));
}

TEST(Documents, RefusesAProgramThatNobodyKnows) {
  const std::string text = to_json(latency_sample());
  for (const char* program : {"all_gather_perf", "reduce_perf_mpi", "fi_rma_bw", "bin/osu_bw",
                              "ib_send_lat", "raw_ethernet_bw"}) {
    EXPECT_EQ(parse_documents(text, "x", program).size(), 1U) << program;
  }
  for (const std::string& one : {text, std::string("# nccl-tests version 2.19.6\n")}) {
    const Error error = rdmabench::complaint([&] { parse_documents(one, "x", "foo"); });
    EXPECT_THAT(error.what(), has_all("program", "'foo'"));
    for (const char* begin : {"all_gather", "fi_", "osu_", "ib_", "raw_ethernet_"}) {
      EXPECT_THAT(error.remedy(), HasSubstr(begin));
    }
  }
}

TEST(Documents, RefusesAFileThatCannotBeReadOrIsTooLarge) {
  EXPECT_THROW(read_documents("/nowhere/at/all.json"), Error);
  EXPECT_THROW(read_documents("/"), Error);
  const std::string path = ::testing::TempDir() + "documents_test.json";
  std::ofstream(path) << to_json(latency_sample());
  ReadLimits limits;
  limits.file_bytes = 100;
  EXPECT_THROW(read_documents(path, "", limits), Error);
  EXPECT_EQ(read_documents(path).size(), 1);
}

}  // namespace
}  // namespace rdmabench::inline v1::report
