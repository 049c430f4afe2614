#include "base/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"

namespace rdmabench::inline v1::sample {  // a message of another namespace, as all are

enum class Color : std::uint8_t { red, green };
constexpr std::array<std::string_view, 2> kColors{"red", "green"};

struct Part {
  std::int16_t offset = 0;
};

struct Whole {
  std::uint8_t count = 1;
  double rate = 0.5;
  bool good = true;
  std::string word = "w";
  std::chrono::milliseconds wait{20};
  Color name = Color::green;
  Color code = Color::green;
  std::vector<std::uint16_t> ports{7};
  std::vector<std::string> words{"a", "b"};
  std::vector<Part> parts{{.offset = -3}};
  std::optional<int> none{};
  std::optional<int> some = 4;
};

void walk(MessageFields& fields, Part& part) {
  fields.number("offset", part.offset);
}

void walk(MessageFields& fields, Whole& whole, std::uint64_t most = 1000) {
  fields.number("count", 1, most, whole.count);
  fields.real("rate", 0, 1, whole.rate);
  fields.flag("good", whole.good);
  fields.text("word", whole.word, 4);
  fields.milliseconds("wait_ms", std::chrono::milliseconds(10), std::chrono::seconds(1),
                      whole.wait);
  fields.name("name", kColors, whole.name);
  fields.code("code", kColors.size(), whole.code);
  fields.numbers("ports", 2, 1, 9, whole.ports);
  fields.texts("words", 2, 1, whole.words);
  fields.list("parts", 2, whole.parts);
  fields.optional("none", whole.none, [&](int& held) { fields.number("none", held); });
  fields.optional("some", whole.some, [&](int& held) { fields.number("some", held); });
}

}  // namespace rdmabench::inline v1::sample

namespace rdmabench::inline v1 {
namespace {

using ::testing::HasSubstr;

constexpr const char* kWritten =
    R"({"count":1,"rate":0.5,"good":true,"word":"w","wait_ms":20,"name":"green","code":1,)"
    R"("ports":[7],"words":["a","b"],"parts":[{"offset":-3}],"none":null,"some":4})";

TEST(Walk, WritesInTheOrderOfTheList) {
  EXPECT_EQ(to_text(sample::Whole{}), kWritten);
}

TEST(Walk, ReadsWhatItWrote) {
  sample::Whole other;
  other.count = 200;
  other.wait = std::chrono::milliseconds(999);
  other.name = other.code = sample::Color::red;
  other.parts = {};
  other.some.reset();
  other.none = -1;
  const std::string text = to_text(other);
  const auto read = parse<sample::Whole>(text);
  EXPECT_EQ(to_text(read), text);
}

TEST(Walk, RefusesWhatIsMissingOrOutOfBounds) {
  const auto refusal = [](const char* key, const nlohmann::json& value, std::uint64_t most = 1000) {
    nlohmann::json json = nlohmann::json::parse(kWritten);
    json[key] = value;
    if (value == "missing") json.erase(key);
    const nlohmann::json sent = parse_object(json.dump());
    return rdmabench::complaint([&] { read_fields<sample::Whole>(sent, most); }, Fault::failed);
  };
  EXPECT_THAT(refusal("count", 256), HasSubstr("from 1 to 255")) << "all that the type holds";
  EXPECT_THAT(refusal("count", 6, 5), HasSubstr("from 1 to 5"));
  EXPECT_THAT(refusal("rate", 2), HasSubstr("'rate'"));
  EXPECT_THAT(refusal("word", "12345"), HasSubstr("at most 4 bytes"));
  EXPECT_THAT(refusal("wait_ms", 9), HasSubstr("from 10 to 1000"));
  EXPECT_THAT(refusal("name", "blue"), HasSubstr("an unknown 'name': 'blue'"));
  EXPECT_THAT(refusal("code", 2), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refusal("ports", {1, 10}), HasSubstr("'ports[1]'"));
  EXPECT_THAT(refusal("words", {"a", "bc"}), HasSubstr("'words[1]'"));
  EXPECT_THAT(refusal("words", {"a", 1}), HasSubstr("not a text of at most 1 bytes"));
  EXPECT_THAT(refusal("parts", {{{"offset", 40000}}}), HasSubstr("from -32768 to 32767"));
  EXPECT_THAT(refusal("parts", {1}), HasSubstr("no field 'offset'"));
  EXPECT_THAT(refusal("none", "x"), HasSubstr("'none'"));
  EXPECT_THAT(refusal("some", "missing"), HasSubstr("no field 'some'"));
}

}  // namespace
}  // namespace rdmabench::inline v1
