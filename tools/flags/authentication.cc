#include "authentication.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "rdmabench/base/error.h"
#include "values.h"

namespace rdmabench::tools {
namespace {

using control::Authentication;

constexpr const char* kFile = "--token-file";
constexpr const char* kAuth = "--auth";
constexpr const char* kInsecure = "--insecure";

[[noreturn]] void refuse_both(std::string_view one, const std::string& other) {
  throw Error(Fault::usage, fmt::format("{} and {} together", one, other),
              "Leave out one of them: both sides prove who they are in one way, or in none.");
}

/// What the earlier options chose: one that does not go with a token.
void refuse_other_way(const Authentication& authentication, std::string_view given) {
  if (authentication.method() == Authentication::Method::munge) {
    refuse_both(given, fmt::format("{} munge", kAuth));
  }
  if (authentication.is_insecure()) refuse_both(given, kInsecure);
}

}  // namespace

void set_token_file(Authentication& to, const Given& given) {
  refuse_other_way(to, given.name);
  if (given.text.empty()) throw Error(Fault::usage, "an empty --token-file", "Name the file.");
  to = Authentication::token_file(std::string(given.text));
}

void set_auth(Authentication& to, const Given& given) {
  if (to.is_insecure()) refuse_both(fmt::format("{} {}", kAuth, given.text), kInsecure);
  if (given.text == "token") return refuse_other_way(to, fmt::format("{} token", kAuth));
  if (given.text != "munge") refuse_word(given, "token or munge");
  if (!to.file().empty()) refuse_both(fmt::format("{} munge", kAuth), kFile);
  to = Authentication::munge();
}

void set_insecure(Authentication& to, const Given& given) {
  if (to.method() == Authentication::Method::munge) {
    refuse_both(given.name, fmt::format("{} munge", kAuth));
  }
  if (!to.file().empty()) refuse_both(given.name, kFile);
  to = Authentication::insecure();
}

Authentication take_authentication(std::vector<std::string>& words) {
  Authentication taken;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      others.insert(others.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const std::string name = word.substr(0, word.find('='));
    if (word == kInsecure) {
      set_insecure(taken, {name, ""});
      continue;
    }
    if (name != kFile && name != kAuth) {
      others.push_back(word);
      continue;
    }
    std::string text = name.size() < word.size() ? word.substr(name.size() + 1) : "";
    if (name.size() == word.size()) {
      if (++i == words.size()) {
        throw Error(Fault::usage, fmt::format("{} without a value", name),
                    name == kFile ? "Name the file." : "Write token or munge.");
      }
      text = words[i];
    }
    if (name == kFile) {
      set_token_file(taken, {name, text});
    } else {
      set_auth(taken, {name, text});
    }
  }
  words = std::move(others);
  return taken;
}

std::string who_is_served(const Authentication& authentication) {
  return authentication.is_insecure() ? ", insecure: anyone who can connect is served" : "";
}

}  // namespace rdmabench::tools
