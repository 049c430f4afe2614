#include "rdmabench/report/documents.h"

#include <fmt/format.h>

#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "fabric_document.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::report {
namespace {

/// pugixml escapes markup, but not what XML 1.0 forbids: that is taken out before.
std::string clean(std::string_view text) {
  std::string out = terminal_safe(text, "\t\n\r");
  for (const std::string_view odd : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {  // U+FFFE, U+FFFF
    for (std::size_t at = 0; (at = out.find(odd, at)) != std::string::npos;) out[at + 2] = '\xbd';
  }
  return out;
}

void set(pugi::xml_node node, const char* attribute, std::string_view text) {
  node.append_attribute(attribute).set_value(clean(text).c_str());
}

void add_text(pugi::xml_node parent, const char* element, std::string_view text) {
  parent.append_child(element).append_child(pugi::node_pcdata).set_value(clean(text).c_str());
}

/// What a reader needs to act: everything that is known, a line each.
std::string body_of(const Judgement& one) {
  std::string text;
  if (!one.text.empty()) text += one.text + "\n";
  if (!one.remedy.empty()) text += fmt::format("remedy: {}\n", one.remedy);
  for (const auto& [key, value] : one.details) text += fmt::format("{}: {}\n", key, value);
  return text;
}

constexpr std::size_t kLongestPart = 60;  // "bandwidth of 1M", "One rail"

using Counts = std::map<Status, unsigned long long>;

void write(pugi::xml_node node, Counts& counts) {
  unsigned long long tests = 0;
  for (const auto& [outcome, count] : counts) tests += count;
  node.append_attribute("tests") = tests;
  node.append_attribute("failures") = counts[Status::fail];
  node.append_attribute("errors") = counts[Status::error];
  node.append_attribute("skipped") = counts[Status::skip] + counts[Status::open];
}

/// Appends cases to one suite and counts them.
class Suite {
 public:
  explicit Suite(pugi::xml_node node) : node_(node) {}

  void add(const Judgement& one) {
    ++counts_[one.outcome];
    pugi::xml_node test = node_.append_child("testcase");
    set(test, "classname", one.group);
    set(test, "name", own_name(one));
    test.append_attribute("time") = "0";
    switch (one.outcome) {
      case Status::fail:
      case Status::error: {
        pugi::xml_node node = test.append_child(one.outcome == Status::fail ? "failure" : "error");
        set(node, "message", one.text);
        set(node, "type", name(one.outcome));
        node.append_child(pugi::node_pcdata).set_value(clean(body_of(one)).c_str());
        break;
      }
      case Status::skip:
      case Status::open:
        set(test.append_child("skipped"), "message", one.text);
        break;
      case Status::warn:
        add_text(test, "system-out", "WARN: " + body_of(one));
        break;
      case Status::pass:
        if (const std::string body = body_of(one); !body.empty()) {
          add_text(test, "system-out", body);
        }
    }
  }

  Counts& counts() { return counts_; }

 private:
  /// No two of a class are the same: readers of JUnit keep one of each name.
  std::string own_name(const Judgement& one) {
    const std::string of = one.subject.empty() ? "" : fmt::format(" [{}]", one.subject);
    std::string name = one.id + of;
    if (one.id == kNotJudged) {  // several, each of a metric and size
      const std::size_t part = one.text.find(": ");
      if (part < kLongestPart) name = fmt::format("{}: {}{}", one.id, one.text.substr(0, part), of);
    }
    const std::size_t times = ++names_[one.group + '\n' + name];
    return times == 1 ? name : fmt::format("{} ({})", name, times);
  }

  pugi::xml_node node_;
  Counts counts_;
  std::map<std::string, std::size_t> names_{};
};

void add_property(pugi::xml_node suite, const char* name, std::string_view value) {
  pugi::xml_node properties = suite.child("properties");
  if (!properties) properties = suite.prepend_child("properties");
  pugi::xml_node property = properties.append_child("property");
  set(property, "name", name);
  set(property, "value", value);
}

/// The cells that were measured: those that were not are judgements already.
void add_cells(Suite& suite, const Document& document) {
  const FabricNames names(document);
  for (const PairMeasurement& pair : document.pairs) {
    if (!pair.error.empty()) continue;
    Judgement one = cell_of(names, pair);
    one.details.emplace_back(pair.latency() ? "p50" : "bandwidth",
                             pair.latency() ? time_text(pair.value) : rate_text(pair.value));
    suite.add(one);
  }
}

}  // namespace

std::string to_junit(std::span<const Document> documents) {
  pugi::xml_document xml;
  pugi::xml_node root = xml.append_child("testsuites");
  root.append_attribute("name") = "rdmabench";
  Counts total;
  for (const Document& document : documents) {
    pugi::xml_node node = root.append_child("testsuite");
    set(node, "name", document.source);
    Suite suite(node);
    for (const Judgement& one : judgements(document, documents)) suite.add(one);
    if (document.pairs.size() <= kJunitCells) {
      add_cells(suite, document);
    } else {
      add_property(node, "cells",
                   fmt::format("{} were measured; only those that failed are listed.",
                               document.pairs.size()));
    }
    add_property(node, "schema", document.schema);
    for (const std::string& note : document.notes) add_property(node, "note", note);
    write(node, suite.counts());
    for (const auto& [outcome, count] : suite.counts()) total[outcome] += count;
  }
  write(root, total);
  std::ostringstream out;
  xml.save(out, "  ", pugi::format_default, pugi::encoding_utf8);
  return std::move(out).str();
}

}  // namespace rdmabench::inline v1::report
