// Saving a tree and reading it back; and archives that mean harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "../complaint.h"
#include "../folder.h"
#include "../setting.h"
#include "fixture.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class ArchiveTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return own_.file(name); }

  const Folder own_;
  const std::filesystem::path folder_ = own_.path();
};

std::string text_of(const FileStore& store) {
  DoctorOptions options;
  const FileTree tree(std::shared_ptr<const FileStore>(&store, [](const FileStore*) {}));
  return to_json(diagnose(tree, "x", options));
}

TEST(Collect, TakesAllThatTheChecksReadAndNothingElse) {
  for (const char* const name :
       {"mlx5-infiniband", "roce", "roce-faults", "efa", "virtual-machine"}) {
    auto store = std::make_shared<MemoryStore>(load(name));
    store->add_file("rdmabench/firmware/0000:18:00.0", "not told: no tool\n");
    store->add_file("etc/shadow", "secret");
    store->add_file("root/.ssh/id_ed25519", "secret");
    store->add_file("proc/self/environ", "TOKEN=secret");
    const MemoryStore found = collect(store);
    EXPECT_EQ(text_of(found), text_of(*store)) << name;
    for (const auto& [path, item] : found.items()) {
      EXPECT_EQ(item.text.find("secret"), std::string::npos) << path;
    }
  }
}

TEST(Collect, LeavesOtherOptionsOfTheKernelOut) {
  auto store = std::make_shared<MemoryStore>(load("mlx5-infiniband"));
  store->add_file("proc/cmdline", "quiet pci=noaer password=secret init_on_alloc=0\n");
  EXPECT_EQ(collect(store).read("proc/cmdline").bytes, "pci=noaer init_on_alloc=0\n");
}

TEST(LiveFacts, AreOfTheListedVariablesAlone) {
  const Setting listed("NCCL_DEBUG", "INFO\nUCX_TLS=x");
  const Setting secret("MY_TOKEN", "secret");
  MemoryStore facts;
  collect_live_facts(facts);
  const std::string text = facts.read("rdmabench/environment").bytes;
  EXPECT_THAT(text, HasSubstr("NCCL_DEBUG=INFO UCX_TLS=x\n"));
  EXPECT_EQ(text.find("secret"), std::string::npos);
  EXPECT_THAT(environment_names(), Contains("NCCL_DEBUG"));
}

TEST_F(ArchiveTest, HasOfNcclsFilesTheListedVariablesAlone) {
  std::ofstream(file("nccl.conf")) << "# NCCL_DEBUG=TRACE\nNCCL_DEBUG=INFO\nMY_TOKEN=secret\n"
                                      "export NCCL_NET=Socket\nNCCL_IB_HCA\n";
  const Setting own("NCCL_CONF_FILE", file("nccl.conf").c_str());
  MemoryStore facts;
  collect_live_facts(facts);
  const std::string text = facts.read("rdmabench/nccl_files").bytes;
  const std::string at = file("nccl.conf") + "\t";
  EXPECT_THAT(text, HasSubstr(at + "NCCL_DEBUG=INFO\n" + at + "export NCCL_NET=Socket\n"));
  EXPECT_EQ(text.find("secret"), std::string::npos);
  EXPECT_EQ(text.find("TRACE"), std::string::npos);
  EXPECT_EQ(text.find("NCCL_IB_HCA"), std::string::npos);
}

TEST(LiveFacts, GoBeforeFilesOfThatName) {
  auto facts = std::make_shared<MemoryStore>();
  facts->add_file("rdmabench/statvfs", "mine");
  const FileTree tree(live_store(facts));
  EXPECT_EQ(tree.read("rdmabench/statvfs").bytes, "mine");
  EXPECT_EQ(tree.read("proc/sys/kernel/osrelease").error, 0);
}

TEST(LiveFacts, AreCollectedWhereNoneAreGiven) {
  const Setting listed("NCCL_DEBUG", "INFO");
  EXPECT_THAT(FileTree(live_store()).read("rdmabench/environment").bytes,
              HasSubstr("NCCL_DEBUG=INFO"));
}

TEST_F(ArchiveTest, OfNothingIsRefused) {
  EXPECT_THROW(open_store(file("nothing")), Error);
}

#if RDMABENCH_HAVE_ARCHIVE
TEST_F(ArchiveTest, GivesBackWhatWasSaved) {
  for (const char* const name : {"mlx5-infiniband", "roce-faults"}) {
    const MemoryStore store = load(name);
    write_archive(store, file("node.tar"));
    EXPECT_EQ(text_of(*open_store(file("node.tar"))), text_of(store)) << name;
  }
}

TEST_F(ArchiveTest, ThatIsNoneIsRefused) {
  std::ofstream(file("text")) << std::string(4096, 'x');
  std::ofstream(file("empty.tar"));
  EXPECT_THROW(open_store(file("text")), Error);
  EXPECT_THROW(write_archive({}, file("no/such/folder.tar")), Error);
}

TEST_F(ArchiveTest, OfZerosIsRefused) {
  for (const std::size_t blocks : {2, 20, 2000}) {
    std::ofstream(file("zeros.tar")) << std::string(512 * blocks, '\0');
    const Error error = complaint([&] { open_store(file("zeros.tar")); });
    EXPECT_THAT(error.what(), HasSubstr("holds nothing")) << blocks;
    EXPECT_EQ(error.fault(), Fault::usage);
  }
  write_archive({}, file("none.tar"));
  EXPECT_THROW(open_store(file("none.tar")), Error);
}

TEST_F(ArchiveTest, ThatIsCutOffIsRefusedOrReadAndNeverCrashes) {
  write_archive(load("efa"), file("whole.tar"));
  std::ifstream stream(file("whole.tar"), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(stream), {}};
  for (std::size_t size = 0; size < whole.size(); size += 997) {
    std::ofstream(file("cut.tar"), std::ios::binary) << whole.substr(0, size);
    try {
      text_of(*open_store(file("cut.tar")));
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::usage) << error.what();
    }
  }
}

/// A ustar header by hand, for what no writer makes.
std::string entry(const std::string& name, char type, const std::string& link,
                  const std::string& data) {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  char size[13];
  snprintf(size, sizeof size, "%011o", static_cast<unsigned>(data.size()));
  put(124, std::string(size, 11));
  put(136, "00000000000");
  put(148, "        ");
  header[156] = type;
  put(157, link);
  put(257, std::string("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char check[9];
  snprintf(check, sizeof check, "%06o", sum);
  put(148, std::string(check, 6) + std::string("\0 ", 2));
  std::string padded = data;
  padded.resize((data.size() + 511) / 512 * 512, '\0');
  return header + padded;
}

TEST_F(ArchiveTest, NeverLeadsOutOfItself) {
  const std::string end(1024, '\0');
  std::ofstream(file("up.tar"), std::ios::binary) << entry("../../etc/passwd", '0', "", "x") << end;
  EXPECT_THROW(open_store(file("up.tar")), Error);
  std::ofstream(file("deep.tar"), std::ios::binary) << entry("sys/../../x", '0', "", "x") << end;
  EXPECT_THROW(open_store(file("deep.tar")), Error);

  std::ofstream(file("links.tar"), std::ios::binary)
      << entry("/etc/hostname", '0', "", "mine") << entry("out", '2', "/etc/hostname", "")
      << entry("up", '2', "../../../../etc/passwd", "") << entry("hard", '1', "/etc/passwd", "")
      << entry("device", '3', "", "") << entry("pipe", '6', "", "") << end;
  const FileTree tree(open_store(file("links.tar")));
  EXPECT_EQ(tree.read("out").bytes, "mine");
  for (const char* const name : {"up", "hard", "device", "pipe"}) {
    EXPECT_EQ(tree.read(name).bytes, "") << name;
  }
}

TEST_F(ArchiveTest, OfGreatSizeIsRefused) {
  const std::string big(33UL << 20, 'x');
  {
    std::ofstream stream(file("big.tar"), std::ios::binary);
    stream << entry("a", '0', "", big) << entry("b", '0', "", big) << std::string(1024, '\0');
  }
  EXPECT_THAT(rdmabench::complaint([&] { open_store(file("big.tar")); }).what(),
              HasSubstr("64 MiB"));
}
#endif

}  // namespace
}  // namespace rdmabench::inline v1::health
