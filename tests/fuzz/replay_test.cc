// The fuzz targets over the corpus, over the seeds, and over seeds that were damaged: the same
// inputs in every run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "seeds.h"
#include "targets.h"

namespace rdmabench::inline v1::fuzz {
namespace {

namespace fs = std::filesystem;

Verdict judge(const std::string& target, std::string_view bytes) {
  if (target == "import") return judge_import(bytes);
  return target == "frame" ? judge_frame(bytes) : judge_payload(bytes);
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FuzzCorpus, BreaksNoRule) {
  for (const std::string target : {"frame", "payload", "import"}) {
    int files = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(RDMABENCH_CORPUS) / target)) {
      ++files;
      const Verdict verdict = judge(target, content(entry.path()));
      EXPECT_EQ(verdict.broken, "") << entry.path();
      // A build may lack the back end that a file of another target is for.
      EXPECT_TRUE(verdict.known || target != "import") << entry.path();
    }
    EXPECT_GT(files, 3) << target;
  }
}

TEST(FuzzSeeds, AreTaken) {
  for (const Seed& seed : seeds()) {
    if (seed.name == "seed-channel-cut-off") continue;
    const Verdict verdict = judge(seed.target, seed.bytes);
    EXPECT_EQ(verdict.broken, "") << seed.name;
    if (!verdict.known) continue;  // of MUNGE, where libmunge is not installed
    EXPECT_TRUE(verdict.taken) << seed.name << ": " << seed.bytes;
  }
}

TEST(FuzzSeeds, CutOffAnywhereBreakNoRuleAndAreRefused) {
  for (const Seed& seed : seeds()) {
    if (seed.target != "payload") continue;
    for (std::size_t size = 0; size < seed.bytes.size(); ++size) {
      const Verdict verdict = judge(seed.target, seed.bytes.substr(0, size));
      EXPECT_EQ(verdict.broken, "") << seed.name << " of " << size;
      EXPECT_FALSE(verdict.taken) << seed.name << " of " << size;
    }
  }
}

TEST(FuzzSeeds, DamagedBreakNoRule) {
  constexpr std::string_view kAlphabet = "{}[]\",:0123456789.eE+-\\utrfalsn \xff";
  std::mt19937 random(5);
  for (const Seed& seed : seeds()) {
    const int rounds = seed.bytes.front() == 'c' ? 20 : 300;
    for (int round = 0; round < rounds; ++round) {
      std::string bytes = seed.bytes;
      for (auto changes = 1 + random() % 3; changes-- > 0;) {
        bytes[1 + random() % (bytes.size() - 1)] = kAlphabet[random() % kAlphabet.size()];
      }
      EXPECT_EQ(judge(seed.target, bytes).broken, "") << ::testing::PrintToString(bytes);
    }
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::fuzz
