// The content of a decision's page: sections, sentences and numbers, which every writer prints.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/decision.h"
#include "decision_texts.h"

namespace rdmabench::inline v1::analysis {

struct PageTable {
  bool words = false;  ///< its cells are words, not numbers
  std::vector<Phrase> heads;
  std::vector<std::vector<Phrase>> rows;
};

/// Step times over the number of nodes.
struct PageChart {
  struct Point {
    double nodes = 0;
    double step_s = 0;
    std::optional<double> low_s;
    std::optional<double> high_s;
  };
  struct Line {
    std::string name;
    std::vector<Point> points;
  };
  Line a;
  Line b;
  double compute_s = 0;
  Phrase compute;  ///< the words at the line of computing
  Phrase axis;
  Phrase step;
  double unit_s = 1;          ///< of the axis of time: 1 or 0.001
  std::vector<double> ticks;  ///< of it, in that unit; the last one is its end
};

/// Something to type.
struct PageCommand {
  Phrase why;
  std::string command;
};

/// Short sentences that stand in small letters, one after the other.
struct PageSmall {
  std::vector<Phrase> phrases;
};

using PageBlock = std::variant<Phrase, PageTable, PageChart, PageCommand, PageSmall>;

struct PageSection {
  std::string key;
  std::optional<Phrase> title;  ///< the first one has none
  std::vector<PageBlock> blocks;
};

struct Page {
  Language language = Language::english;
  Phrase question;
  Phrase subject;
  Answer answer = Answer::not_proven;
  Phrase answer_word;
  std::vector<PageSection> sections;
};

Page make_page(const Decision& decision, Language language);

/// The document, which report's writers take.
nlohmann::ordered_json to_object(const Page& page, const Decision& decision);

}  // namespace rdmabench::inline v1::analysis
