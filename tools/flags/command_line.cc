#include "command_line.h"

#include <fmt/ranges.h>
#include <getopt.h>

#include <algorithm>

#include "base/nearest.h"

namespace rdmabench::inline v1::tools {
namespace {

constexpr int kLongOnly = 1000;  // getopt's code of the first long name

[[noreturn]] void refuse(std::string_view program, std::string_view what,
                         const std::string& better = "") {
  throw Error(Fault::usage, what,
              better.empty() ? fmt::format("Try '{} --help'.", program) : better);
}

[[noreturn]] void refuse_long(std::string_view program, std::span<const Spelling> flags,
                              const std::string& word) {
  const std::string typed = word.substr(0, word.find('='));
  std::vector<std::string> all;
  std::vector<std::string> begun;  // names that this is the beginning of
  for (const Spelling& flag : flags) {
    if (flag.name.empty()) continue;
    all.push_back(flag.long_name());
    if (all.back() == typed) refuse(program, fmt::format("{} takes no value", typed));
    if (all.back().starts_with(typed)) begun.push_back(all.back());
  }
  if (!begun.empty()) {
    refuse(program, fmt::format("'{}' is the beginning of several flags", typed),
           fmt::format("Choose {}.", fmt::join(begun, " or ")));
  }
  const std::string near = nearest(typed, all);
  refuse(program, fmt::format("unknown flag '{}'", word),
         near.empty() ? "" : fmt::format("Did you mean {}?", near));
}

}  // namespace

std::string Spelling::long_name() const {
  return fmt::format("--{}", name);
}

std::string Spelling::short_name() const {
  return letter == '\0' ? long_name() : fmt::format("-{}", letter);
}

Words split_words(std::string_view program, std::span<const Spelling> flags,
                  const std::vector<std::string>& words) {
  std::string letters = ":";
  std::vector<std::string> names;
  names.reserve(flags.size());  // `longs` points into it
  std::vector<option> longs;
  for (const Spelling& flag : flags) {
    const std::size_t index = names.size();
    names.emplace_back(flag.name);
    const auto takes = static_cast<int>(flag.takes);  // getopt's no_argument, required_argument ...
    if (flag.letter != '\0')
      letters += flag.letter + std::string(static_cast<unsigned>(takes), ':');
    if (!flag.name.empty()) {
      longs.push_back({names[index].c_str(), takes, nullptr, kLongOnly + static_cast<int>(index)});
    }
  }
  longs.push_back({});
  std::vector<std::string> copies{std::string(program)};
  copies.insert(copies.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int count = static_cast<int>(copies.size());
  const auto index_of = [&](int code) {
    if (code >= kLongOnly) return static_cast<std::size_t>(code - kLongOnly);
    const auto found = std::find_if(flags.begin(), flags.end(),
                                    [&](const Spelling& flag) { return flag.letter == code; });
    return static_cast<std::size_t>(found - flags.begin());
  };
  Words parted;
  optind = 0;  // anew: a process may read several command lines
  for (int code = 0; (code = getopt_long(count, arguments.data(), letters.c_str(), longs.data(),
                                         nullptr)) != -1;) {
    if (code == ':') {
      const Spelling& flag = flags[index_of(optopt)];
      refuse(
          program,
          fmt::format("{} needs a value", flag.name.empty() ? flag.short_name() : flag.long_name()),
          "");
    }
    if (code == '?' && optopt != 0 && optopt < kLongOnly) {
      refuse(program, fmt::format("unknown flag '-{}'", static_cast<char>(optopt)));
    }
    if (code == '?') {
      refuse_long(program, flags, arguments[static_cast<std::size_t>(optind - 1)]);
    }
    const std::size_t index = index_of(code);
    std::erase_if(parted.flags, [&](const auto& earlier) { return earlier.first == index; });
    parted.flags.emplace_back(index,
                              Given{flags[index].short_name(), optarg == nullptr ? "" : optarg});
  }
  parted.rest.assign(arguments.begin() + optind, arguments.end() - 1);
  return parted;
}

std::string help_line(const Spelling& flag, std::string_view text) {
  const bool both = flag.letter != '\0' && !flag.name.empty();
  std::string names =
      both ? fmt::format("{}, {}", flag.short_name(), flag.long_name()) : flag.short_name();
  if (!flag.value.empty()) names += fmt::format(" {}", flag.value);
  return fmt::format("  {:<33}  {}\n", names, text);
}

void check_operands(std::string_view program, const std::vector<std::string>& rest,
                    std::size_t most) {
  if (rest.size() <= most) return;
  refuse(program, fmt::format("unexpected word '{}'", rest[most]));
}

bool is_usual(const Given& given, std::string_view usual) {
  return !usual.empty() &&
         whole(given, 0, UINT32_MAX) == whole({given.name, std::string(usual)}, 0, UINT32_MAX);
}

}  // namespace rdmabench::inline v1::tools
