#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "rdmabench/base/error.h"

namespace rdmabench {
namespace {

constexpr std::size_t kMebi = std::size_t{1} << 20;

std::string written(std::size_t bytes) {
  const std::string path = testing::TempDir() + "rdmabench_document";
  std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
  return path;
}

std::string refusal(const std::string& path, std::size_t most) {
  try {
    read_document(path, most);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::usage);
    return error.what();
  }
  return "none";
}

TEST(ReadDocument, GivesAllOfAFile) {
  EXPECT_EQ(read_document(written(kMebi), kMebi), std::string(kMebi, 'x'));
  EXPECT_EQ(read_document(written(0)), "");
}

TEST(ReadDocument, NamesAFileThatIsMissingOrAFolder) {
  EXPECT_THAT(
      refusal("/none/such.json", kMebi),
      testing::AllOf(testing::HasSubstr("/none/such.json"), testing::HasSubstr("No such file")));
  EXPECT_THAT(refusal("/", kMebi), testing::HasSubstr("Is a directory"));
}

TEST(ReadDocument, RefusesMoreThanItIsAllowed) {
  EXPECT_THAT(refusal(written(kMebi + 1), kMebi), testing::HasSubstr("larger than 1 MiB"));
}

TEST(FirstLine, IsEmptyWhereNothingCanBeRead) {
  EXPECT_EQ(first_line("/none/such"), "");
  EXPECT_EQ(read_number("/none/such"), std::nullopt);
}

}  // namespace
}  // namespace rdmabench
