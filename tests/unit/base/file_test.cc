#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "../folder.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {
namespace {

constexpr std::size_t kMebi = std::size_t{1} << 20;

/// A file of so many bytes, for as long as this lives.
class Written {
 public:
  explicit Written(std::size_t bytes) { folder_.write("document", std::string(bytes, 'x')); }
  std::string path() const { return folder_.file("document"); }

 private:
  const Folder folder_;
};

std::string refusal(const std::string& path, std::size_t most) {
  return complaint([&] { read_document(path, most); }, Fault::usage);
}

TEST(ReadDocument, GivesAllOfAFile) {
  EXPECT_EQ(read_document(Written(kMebi).path(), kMebi), std::string(kMebi, 'x'));
  EXPECT_EQ(read_document(Written(0).path()), "");
}

TEST(ReadDocument, NamesAFileThatIsMissingOrAFolder) {
  EXPECT_THAT(refusal("/none/such.json", kMebi), has_all("/none/such.json", "No such file"));
  EXPECT_THAT(refusal("/", kMebi), testing::HasSubstr("Is a directory"));
  EXPECT_THAT(refusal("-", kMebi), testing::HasSubstr("read '-'"));  // no file of that name here
}

TEST(ReadDocument, RefusesMoreThanItIsAllowed) {
  EXPECT_THAT(refusal(Written(kMebi + 1).path(), kMebi), testing::HasSubstr("larger than 1 MiB"));
}

TEST(FirstLine, IsEmptyWhereNothingCanBeRead) {
  EXPECT_EQ(first_line("/none/such"), "");
  EXPECT_EQ(read_number("/none/such"), std::nullopt);
}

}  // namespace
}  // namespace rdmabench::inline v1
