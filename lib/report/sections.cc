#include "sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "base/listed.h"
#include "base/text.h"
#include "kinds.h"

namespace rdmabench::inline v1::report {
namespace {

constexpr std::size_t kMostPlaces = 100;  // that are named of many

struct PartKind {
  std::string_view kind;
  std::string_view title;
};
/// Runs of these tests stand together.
constexpr std::array<PartKind, 4> kTests{{{"latency", "Latency"},
                                          {"bandwidth", "Bandwidth"},
                                          {"load", "Latency under load"},
                                          {"registration", "Registration"}}};

/// In the order of the page, other runs last.
std::vector<PartKind> part_kinds() {
  std::vector<PartKind> all;
  for (const DocumentKind* one : document_kinds()) {
    if (one == &kRunKind) all.insert(all.end(), kTests.begin(), kTests.end());
    all.push_back({one->schema, one->title});
  }
  return all;
}

/// The schema, or of runs the test.
std::string_view part_kind_of(const Document& document) {
  if (document.schema != kRunSchema) return document.schema;
  const std::string test = text_of(json_of(document), "test");
  const auto* const known = std::find_if(kTests.begin(), kTests.end(),
                                         [&](const PartKind& one) { return one.kind == test; });
  return known == kTests.end() ? kRunSchema : known->kind;
}

/// Columns that say nothing in any row are left out.
void drop_empty_columns(Section& section) {
  for (std::size_t i = section.columns.size(); i-- > 0;) {
    const bool empty =
        std::all_of(section.rows.begin(), section.rows.end(), [i](const TableRow& row) {
          const Cell& cell = row.cells[i];
          return (cell.text.empty() || cell.text == "-") && !cell.status && cell.items.empty();
        });
    if (!empty) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    section.columns.erase(section.columns.begin() + at);
    for (TableRow& row : section.rows) row.cells.erase(row.cells.begin() + at);
  }
}

/// Adds those of one document, whose rows begin with its name if it has one.
void join(std::vector<Section>& all, std::vector<Section> more, const std::string& source) {
  for (Section& section : more) {
    if (!source.empty() && !section.columns.empty()) {
      section.columns.insert(section.columns.begin(), {"document"});
      for (TableRow& row : section.rows) row.cells.insert(row.cells.begin(), Cell(source));
    }
    auto known = std::find_if(all.begin(), all.end(), [&](const Section& one) {
      return one.title == section.title && one.columns.size() == section.columns.size();
    });
    if (known == all.end()) {
      all.push_back(std::move(section));
      continue;
    }
    for (Cell& words : section.words) {
      const bool is_new = std::none_of(known->words.begin(), known->words.end(),
                                       [&](const Cell& one) { return one.text == words.text; });
      if (is_new) known->words.push_back(std::move(words));
    }
    std::move(section.rows.begin(), section.rows.end(), std::back_inserter(known->rows));
    known->left_out += section.left_out;
    known->open |= section.open;
  }
}

std::vector<Section> every_section(const Document& document) {
  const DocumentKind* const kind = find_kind(document.schema);
  return kind != nullptr ? kind->sections(document) : std::vector<Section>();
}

std::vector<Section> every_detail(const Document& document) {
  const DocumentKind* const kind = find_kind(document.schema);
  std::vector<Section> all = kind != nullptr ? kind->details(document) : std::vector<Section>();
  all.push_back(table_of("What came of each limit",
                         {words_column("limit", "expectation"), status_column(),
                          words_column("of", "row"), words_column("measured", "text")},
                         list_of(json_of(document), "expectations")));
  return all;
}

std::string joined(std::initializer_list<std::string> parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text.append(text.empty() ? "" : separator).append(part);
  }
  return text;
}

/// The hosts that a document names, and the day of its last environment.
void note_origin(const Json& node, std::set<std::string>& hosts, std::string& day) {
  if (node.is_object()) {
    const std::string name = text_of(node, "name");
    const std::string value = name.empty() ? "" : text_of(node, "value");
    constexpr std::size_t kDay = std::string_view("2026-11-30").size();
    if (name == "collected_utc" && value.size() > kDay) day = std::max(day, value.substr(0, kDay));
    const std::string host = name == "hostname" ? value : text_of(node, "host");
    if (!host.empty()) hosts.insert(host);
  }
  for (const Json& child : node) {
    if (child.is_structured()) note_origin(child, hosts, day);
  }
}

std::string detail_of(const Judgement& one, std::string_view key) {
  for (const auto& [name, value] : one.details) {
    if (name == key) return value;
  }
  return "";
}

}  // namespace

ColumnOf words_column(std::string heading, std::string key, int dispensable) {
  return {std::move(heading),
          false,
          [key = std::move(key)](const Json& row) { return Cell(any_text_of(row, key)); },
          {},
          dispensable};
}

ColumnOf number_column(std::string heading, std::string key, const Scale& scale, int dispensable) {
  const auto cell = [key = std::move(key), scale](const Json& row) {
    return Cell(number_of(row, key), scale);
  };
  return {std::move(heading), true, cell, scale, dispensable};
}

ColumnOf status_column() {
  return {"status", false, [](const Json& row) { return Cell(status_of(text_of(row, "status"))); }};
}

Section table_of(std::string title, const Columns& columns, const Json& items) {
  Section section{std::move(title)};
  for (const ColumnOf& one : columns) {
    section.columns.push_back({one.heading, one.number, one.scale, one.dispensable});
  }
  for (const Json& item : items) {
    TableRow& row = section.rows.emplace_back();
    for (const ColumnOf& one : columns) row.cells.push_back(one.cell(item));
  }
  return section;
}

Section facts_table(std::string title, const Json& facts) {
  Section section{std::move(title), false, {}, {{"name"}, {"value"}}};
  for (const auto& [key, value] : facts.items()) {
    const bool named = facts.is_array();
    section.rows.push_back({{named ? text_of(value, "name") : key,
                             named ? any_text_of(value, "value") : any_text(value)}});
  }
  return section;
}

Section notes_of(const Json& body) {
  Section section{"Notes", false};
  for (const Json& one : list_of(body, "notes")) section.words.emplace_back(any_text(one));
  return section;
}

Cell headline(const JudgedDocument& judged) {
  const Json& body = json_of(judged.document);
  Cell cell(text_of(body, "summary"));
  if (cell.text.empty()) cell.text = text_of(object_of(body, "verdict"), "summary");
  for (const Judgement& one : judged.list) {
    if (one.headline) return {one.outcome, cell.text.empty() ? one.text : cell.text};
  }
  return cell;
}

std::vector<Section> without_empty(std::vector<Section> sections) {
  std::erase_if(sections, [](const Section& one) { return one.rows.empty() && one.words.empty(); });
  for (Section& section : sections) drop_empty_columns(section);
  return sections;
}

std::vector<Section> sections(const Document& document) {
  return without_empty(every_section(document));
}

std::string Found::what() const {
  if (!same_id) return first.alike;
  const std::size_t dot = first.group.find('.');  // of "coll.all-reduce"
  std::string part = dot == std::string::npos ? "" : first.group.substr(dot + 1);
  if (!first.finding || first.id.starts_with(part)) part.clear();
  std::string title = detail_of(first, "title");
  if (same_text && first.text.starts_with(title)) title.clear();
  return joined({std::move(part), first.id, std::move(title)}, ": ");
}

std::string Found::why() const {
  if (same_text) return first.text;
  if (same_id && !observed.empty()) {
    std::vector<std::pair<std::string, std::size_t>> counts(observed.begin(), observed.end());
    std::ranges::stable_sort(counts, std::ranges::greater(),
                             [](const auto& one) { return one.second; });
    std::vector<std::string> values;
    for (const auto& [value, number] : counts) {
      values.push_back(observed.size() > 1 ? fmt::format("{} ({})", value, number) : value);
    }
    constexpr std::size_t kMostValues = 4;
    const std::vector<std::string> usual(expected.begin(), expected.end());
    return listed(values, kMostValues) +
           (usual.empty() ? "" : "; expected " + listed(usual, kMostValues / 2));
  }
  return same_id && first.alike != first.id ? first.alike : "";
}

std::string Found::text() const {
  constexpr std::size_t kMostSources = 2;
  std::string where = joined({places.front().source, places.front().where}, ", ");
  if (count > 1) {
    std::set<std::string> sources;
    for (const Place& place : places) sources.insert(place.source);
    sources.erase("");  // a check has its host
    where = joined({fmt::format("{} places", count), listed(sources, kMostSources)}, " in ");
  }
  return joined({where, what(), same_text && first.text.empty() ? first.remedy : why()}, ": ");
}

std::vector<Found> found(std::span<const JudgedDocument> documents) {
  std::vector<Found> all;
  std::map<std::tuple<Status, std::string, std::string>, std::size_t> known;
  for (const auto& [document, list] : documents) {
    for (const Judgement& one : list) {
      if (one.outcome == Status::pass || (one.measured && one.alike.empty())) continue;
      if (document.schema == kDoctorSchema && one.outcome == Status::skip) continue;
      std::size_t at = all.size();
      if (!one.alike.empty()) {
        at = known.try_emplace({one.outcome, one.alike, one.remedy}, at).first->second;
      }
      if (at == all.size()) all.emplace_back().first = one;
      Found& place = all[at];
      ++place.count;
      place.same_id &= one.id == place.first.id;
      place.same_text &= one.text == place.first.text;
      if (std::string value = detail_of(one, "observed"); !value.empty()) ++place.observed[value];
      if (std::string value = detail_of(one, "expected"); !value.empty())
        place.expected.insert(value);
      if (place.places.size() == kMostPlaces) continue;
      const bool has_host = document.schema == kDoctorSchema;
      place.places.push_back({has_host ? "" : document.source, one.subject, one.id, one.text});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    return place_of(a.first.outcome) < place_of(b.first.outcome);
  });
  return all;
}

Section found_table(const std::vector<Found>& all, bool of_several) {
  Section section{"What stands out"};
  section.columns = {{"status"}, {"what"}, {"where"}, {"why"}, {"do first"}, {"remedy"}, {"more"}};
  for (const Found& one : all) {
    const auto where_of = [of_several](const Found::Place& place) {
      return joined({of_several ? place.source : "", place.where}, ", ");
    };
    Cell where = where_of(one.places.front());
    if (one.count > 1) {
      where.text = fmt::format("{} places", one.count);
      for (const Found::Place& place : one.places) {
        where.items.push_back(joined(
            {where_of(place), one.same_id ? "" : place.id, one.same_text ? "" : place.text}, ": "));
      }
      if (one.places.size() < one.count) where.items.emplace_back("...");
    }
    Cell more;
    for (const auto& [key, value] : one.first.details) {
      const bool told = key == "title" || key == "action" || key == "privilege" ||
                        (key == "observed" && !one.same_text) || (key == "rank" && one.count > 1);
      if (told || value.empty() || !one.first.finding) continue;
      more.items.push_back(fmt::format("{}: {}", replaced(key, {{'_', " "}}), value));
    }
    section.rows.push_back({{one.first.outcome, one.what(), std::move(where), one.why(),
                             detail_of(one.first, "action"), one.first.remedy, std::move(more)}});
  }
  drop_empty_columns(section);
  return section;
}

Section found_words(const std::vector<Found>& all) {
  constexpr std::size_t kMostExplained = 4;
  constexpr std::size_t kMostNamed = 8;
  Section section;
  std::map<std::pair<std::string, Status>, std::size_t> explained;
  std::map<std::pair<std::string, Status>, std::vector<std::string>> rest;
  for (const Found& one : all) {
    if (!one.first.finding || one.first.headline) continue;
    const std::string& first = one.places.front().where;
    const bool in_one_place = std::all_of(one.places.begin(), one.places.end(),
                                          [&](const auto& place) { return place.where == first; });
    Cell said(
        one.first.outcome,
        joined({in_one_place ? first : fmt::format("{} places", one.count), one.what()}, ": "));
    const std::string evidence = detail_of(one.first, "evidence");
    const std::pair kind{one.first.group, one.first.outcome};
    if (!evidence.empty() && ++explained[kind] > kMostExplained) {
      rest[kind].push_back(said.text);
      continue;
    }
    std::vector<std::string> of_places;
    for (const Found::Place& place : one.places) {
      if (one.count == 1) break;
      of_places.push_back(joined({in_one_place ? "" : place.where, one.same_id ? "" : place.id,
                                  one.same_text ? "" : place.text},
                                 ": "));
    }
    said.items = folded(of_places);
    const std::string action = detail_of(one.first, "action");
    for (const std::string& line :
         {one.why(), evidence, action.empty() ? "" : "do first: " + action, one.first.remedy}) {
      if (!line.empty()) said.items.push_back(line);
    }
    section.words.push_back(std::move(said));
  }
  for (const auto& [kind, names] : rest) {
    section.words.emplace_back(kind.second,
                               fmt::format("{} more: {}", names.size(), listed(names, kMostNamed)));
  }
  return section;
}

std::string without_numbers(std::string_view sentence) {
  std::string kind;
  bool after_digit = false;
  for (const char c : sentence) {
    const bool digit = c >= '0' && c <= '9';
    const bool unit = after_digit && (c == 'K' || c == 'M' || c == 'G');
    if (!digit && !unit) kind += c;
    after_digit = digit;
  }
  return kind;
}

std::vector<std::string> folded(const std::vector<std::string>& sentences) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& sentence : sentences) ++counts[without_numbers(sentence)];
  std::vector<std::string> list;
  for (const std::string& sentence : sentences) {
    const std::size_t count = std::exchange(counts[without_numbers(sentence)], 0);
    if (count == 0) continue;
    list.push_back(sentence);
    if (count > 1) list.back() += fmt::format(" (and {} more like it)", count - 1);
  }
  return list;
}

std::string title_of(std::span<const Document> documents, Status worst) {
  constexpr std::size_t kMostNamed = 3;
  std::set<std::string> hosts;
  std::string day;
  for (const Document& document : documents) note_origin(json_of(document), hosts, day);
  std::string where =
      fmt::format("{} document{}", documents.size(), documents.size() == 1 ? "" : "s");
  if (hosts.size() > kMostNamed) {
    where = fmt::format("{} nodes, {} to {}", hosts.size(), *hosts.begin(), *hosts.rbegin());
  } else if (!hosts.empty()) {
    where = fmt::format("{}", fmt::join(hosts, ", "));
  }
  return fmt::format("{}: {}", joined({where, day}, ", "),
                     name(worst == Status::skip ? Status::pass : worst));
}

std::vector<Part> parts(std::span<const Document> documents) {
  std::vector<Part> all;
  for (const PartKind& kind : part_kinds()) {
    const auto of_kind = [&](const Document& one) { return part_kind_of(one) == kind.kind; };
    const bool together = kind.kind == kDoctorSchema || !kind.kind.starts_with("rdmabench-");
    const auto number = std::count_if(documents.begin(), documents.end(), of_kind);
    const std::size_t first = all.size();
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if (!of_kind(documents[i])) continue;
      if (all.size() == first || !together) {
        all.push_back({std::string(kind.title), std::string(kind.kind)});
        if (number > 1 && !together) all.back().title += ": " + documents[i].source;
      }
      all.back().documents.push_back(i);
    }
  }
  for (Part& part : all) {
    std::vector<JudgedDocument> mine;
    for (const std::size_t i : part.documents) mine.emplace_back(documents[i], documents);
    part.found = found(mine);
    std::vector<Section> more;
    std::map<std::string, std::size_t> alike;  // documents that begin with the same sentence
    for (const JudgedDocument& judged : mine) {
      const Document& one = judged.document;
      Cell said = headline(judged);
      if (!said.text.empty() && ++alike[said.text] == 1) part.headlines.push_back(std::move(said));
      const bool alone = mine.size() == 1 || part.kind == kDoctorSchema;  // checks name their host
      join(part.sections, every_section(one), alone ? "" : one.source);
      join(more, every_detail(one), alone ? "" : one.source);
    }
    std::ptrdiff_t skipped = 0;
    for (const JudgedDocument& judged : mine) {
      skipped += std::ranges::count(judged.list, Status::skip, &Judgement::outcome);
    }
    if (part.kind == kDoctorSchema && skipped > 0) {
      part.sections.insert(
          part.sections.begin(),
          Section{.words = {fmt::format(
                      "{} checks are SKIP: most do not apply there. 'Every check' says why.",
                      skipped)}});
    }
    for (Cell& said : part.headlines) {
      if (alike[said.text] > 1) said.text += fmt::format(" ({} documents)", alike[said.text]);
    }
    std::move(more.begin(), more.end(), std::back_inserter(part.sections));
    part.sections = without_empty(std::move(part.sections));
  }
  return all;
}

}  // namespace rdmabench::inline v1::report
