#include "analysis/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "../complaint.h"
#include "../folder.h"
#include "documents.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"

namespace rdmabench::inline v1::analysis {
namespace {

#if RDMABENCH_HAVE_SQLITE

using Open = BaselineStore::Open;
using testing::HasSubstr;

class Baseline : public testing::Test {
 protected:
  std::string refusal(Open open = Open::existing) const {
    return error_text([&] { BaselineStore store(path_, open); }, "opened", Fault::usage);
  }
  const Folder folder_;
  const std::string path_ = folder_.file("baseline.sqlite");
};

TEST_F(Baseline, ComesBackAsItWasStored) {
  const auto launches = bandwidth_launches(5, 1e11, 0.01, 1);
  EXPECT_EQ(BaselineStore(path_, Open::create).add("nightly", launches), 5U);
  const auto loaded = BaselineStore(path_, Open::existing).load("nightly");
  ASSERT_EQ(loaded.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(loaded[i].document, launches[i].document);
  EXPECT_THAT(loaded[0].source, HasSubstr("'nightly'"));
}

TEST_F(Baseline, HoldsALaunchOnce) {
  const auto launches = bandwidth_launches(3, 1e11, 0.01, 1);
  BaselineStore store(path_, Open::create);
  EXPECT_EQ(store.add("x", launches), 3U);
  EXPECT_EQ(store.add("x", launches), 0U);
  EXPECT_EQ(store.add("y", launches), 3U) << "another baseline";
  EXPECT_EQ(store.load("x").size(), 3U);
}

TEST_F(Baseline, NamesAreData) {
  const std::string evil = "x'); DROP TABLE launch; --";
  BaselineStore store(path_, Open::create);
  store.add(evil, bandwidth_launches(2, 1e11, 0.01, 1));
  store.add("b", bandwidth_launches(1, 1e11, 0.01, 2));
  EXPECT_EQ(store.load(evil).size(), 2U);
  ASSERT_EQ(store.list().size(), 2U);
  EXPECT_EQ(store.list()[0].name, "b");
}

TEST_F(Baseline, ThatIsUnknownListsWhatThereIs) {
  BaselineStore store(path_, Open::create);
  store.add("weekly", bandwidth_launches(1, 1e11, 0.01, 1));
  EXPECT_THAT(complaint([&] { store.load("nightly"); }).what(), has_all("'nightly'", "weekly"));
}

TEST_F(Baseline, CanBeListedShownAndRemoved) {
  BaselineStore store(path_, Open::create);
  store.add("nightly", bandwidth_launches(3, 1e11, 0.01, 1));
  store.add("weekly", bandwidth_launches(2, 1e11, 0.01, 2));
  const auto entries = store.list();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].launches, 3U);
  EXPECT_EQ(entries[0].last_utc.size(), std::string("2026-11-21T17:02:05Z").size());
  const std::string table = to_table(store.load("nightly"));
  EXPECT_THAT(table, HasSubstr("3 launches"));
  EXPECT_THAT(table, HasSubstr("verbs mlx5 mlx5_0:1"));
  EXPECT_EQ(store.remove("nightly"), 3U);
  EXPECT_EQ(store.list().size(), 1U);
  EXPECT_EQ(store.load("weekly").size(), 2U);
  EXPECT_THROW(store.remove("nightly"), Error);
}

Launch of_provider(const std::string& provider, const std::string& source, int minute) {
  report::Report report = bandwidth_report({{65536, 1e11}}, minute);
  report.resolved.provider = provider;
  set_fact(report.config, "depth", provider == "shm" ? "64" : "128");
  return launch_of(report, source);
}

TEST_F(Baseline, ALaunchOfAnotherConfigurationIsRefusedByName) {
  BaselineStore store(path_, Open::create);
  store.add("nightly", {of_provider("tcp", "tcp.json", 0)});
  EXPECT_THAT(complaint(
                  [&] {
                    store.add("nightly", {of_provider("tcp", "tcp2.json", 1),
                                          of_provider("shm", "shm.json", 2)});
                  },
                  Fault::usage),
              has_all("shm.json", "resolved.provider shm instead of tcp",
                      "config.depth 64 instead of 128"));
  EXPECT_EQ(store.load("nightly").size(), 1U) << "all or none";
  EXPECT_THROW(store.add("new", {of_provider("tcp", "a", 3), of_provider("shm", "b", 4)}), Error);
  EXPECT_EQ(
      store.add("nightly", {of_provider("shm", "shm.json", 2)}, Factors({"provider", "depth"})), 1U)
      << "declared";
  // Another test of the same fabric belongs into the same baseline, another kernel too.
  report::Report latency = latency_report({{8, 1000}}, 5);
  latency.resolved.provider = "tcp";
  set_fact(latency.environment.client, "kernel", "6.12.0");
  EXPECT_EQ(store.add("nightly", {launch_of(latency, "lat.json")}), 1U);
  report::Report shallow = bandwidth_report({{65536, 1e11}}, 6);
  shallow.resolved.provider = "tcp";
  set_fact(shallow.config, "depth", "8");
  EXPECT_THROW(store.add("nightly", {launch_of(shallow, "depth8.json")}), Error)
      << "that a latency has the same device does not make its depth alike";
}

TEST_F(Baseline, FileMustBeThereAndOurs) {
  EXPECT_THAT(refusal(), HasSubstr("--store"));
  std::ofstream(path_) << std::string(5000, 'x');
  EXPECT_THAT(refusal(), HasSubstr("not a SQLite database"));
  EXPECT_THAT(refusal(Open::create), HasSubstr("not a SQLite database"));
}

TEST_F(Baseline, OfANewerReleaseIsRefused) {
  { BaselineStore store(path_, Open::create); }
  // user_version: bytes 60 to 63 of the header, big-endian. Source: sqlite.org/fileformat2.html
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(63);
  file.put(9);
  file.close();
  EXPECT_THAT(refusal(), HasSubstr("version 9"));
}

TEST_F(Baseline, OfAnotherProgramIsRefused) {
  { BaselineStore store(path_, Open::create); }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(71);  // the last byte of application_id
  file.put(1);
  file.close();
  EXPECT_THAT(refusal(), HasSubstr("another program"));
}

TEST_F(Baseline, WaitsForAnother) {
  BaselineStore one(path_, Open::create);
  BaselineStore other(path_, Open::existing);
  EXPECT_EQ(one.add("x", bandwidth_launches(2, 1e11, 0.01, 1)), 2U);
  EXPECT_EQ(other.add("x", bandwidth_launches(2, 1e11, 0.01, 2)), 2U);
  EXPECT_EQ(one.load("x").size(), 4U);
}

#else

TEST(Baseline, IsNotToBeHadWithoutSqlite) {
  EXPECT_THAT(complaint([&] { BaselineStore store("x.sqlite", BaselineStore::Open::create); },
                        Fault::unavailable),
              testing::HasSubstr("RDMABENCH_SQLITE"));
}

#endif

}  // namespace
}  // namespace rdmabench::inline v1::analysis
