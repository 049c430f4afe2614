// What the parts of a decision's page share while they are made.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decision_page.h"
#include "decision_texts.h"

namespace rdmabench::inline v1::analysis {

/// Adds phrases, tables and commands to the page, in its language.
class PageParts {
 public:
  PageParts(const Decision& decision, Language language, Page& page)
      : decision_(decision),
        options_(decision.options),
        projection_(decision.options.projection),
        shown_(language, decision.options.currency),
        a_(Shown::text("a", projection_.a_name)),
        b_(Shown::text("b", projection_.b_name)),
        page_(page) {
    page_.language = language;
    page_.answer = decision.answer;
  }

 protected:
  using Values = std::vector<Value>;

  Phrase say(Text key, Values values = {}) const { return shown_.say(key, std::move(values)); }
  /// With the names of both networks.
  Phrase say_named(Text key, Values values = {}) const {
    values.insert(values.begin(), {a_, b_});
    return say(key, std::move(values));
  }
  void open(std::string key, std::optional<Phrase> title) {
    page_.sections.push_back({std::move(key), std::move(title), {}});
  }
  template <class Block>
  void put(Block block) {
    page_.sections.back().blocks.emplace_back(std::move(block));
  }

  Phrase parallel() const {
    return say(projection_.job.parallel == Parallel::sharded ? Text::job_sharded : Text::job_data);
  }

  /// Why the answer is as it is.
  Phrase ground() const;
  /// Whether more launches of the same pairs and sessions would not do.
  bool more_units() const;

  /// The same value under another name.
  static Value as(std::string name, const Value& value) {
    return {std::move(name), value.raw, value.shown};
  }
  Phrase cell(const Value& value) const { return say(Text::cell, {as("value", value)}); }

  const Decision& decision_;
  const DecisionOptions& options_;
  const ProjectionOptions& projection_;
  Shown shown_;
  Value a_;
  Value b_;
  Page& page_;
};

/// How sure the answer is, what could flip it, what to do next and what it rests on.
void add_reasons(const Decision& decision, Language language, Page& page);

}  // namespace rdmabench::inline v1::analysis
