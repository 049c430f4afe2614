#include "rdmabench/report/documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "base/file.h"
#include "base/nesting.h"
#include "base/refuse.h"
#include "base/text.h"
#include "body.h"
#include "digest.h"
#include "fabric_document.h"
#include "import/run.h"
#include "kinds.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::report {
namespace {

[[noreturn]] void refuse(const std::string& source, std::size_t line, const std::string& why) {
  throw Error(Fault::usage, fmt::format("'{}', line {}: {}", source, line, why),
              "Give files that 'rdmabench lat --format json' or another command of it wrote.");
}

std::size_t line_at(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

/// Without "[json.exception.parse_error.101] parse error at line 1, column 2: ".
std::string without_place(std::string_view what) {
  if (const std::size_t id = what.find("] "); id != std::string_view::npos) {
    what.remove_prefix(id + 2);
  }
  const std::size_t at = what.find("column ");
  const std::size_t colon = at == std::string_view::npos ? at : what.find(": ", at);
  return std::string(colon == std::string_view::npos ? what : what.substr(colon + 2));
}

/// Where the number is that "number overflow parsing '1e999'" quotes: such an error has no place.
std::size_t place_of_number(std::string_view text, std::string_view what) {
  const std::size_t begin = what.find('\'');
  const std::size_t end = what.rfind('\'');
  if (begin == std::string_view::npos || end == begin) return 0;
  const std::size_t at = text.find(what.substr(begin + 1, end - begin - 1));
  return at == std::string_view::npos ? 0 : at;
}

/// One value of JSON; `first_line` is the line of `text`'s first byte.
template <class Value = Json>
Value parse_value(std::string_view text, const std::string& source, std::size_t first_line,
                  const ReadLimits& limits) {
  if (text.size() > limits.document_bytes) {
    refuse(source, first_line,
           fmt::format("a document of {} MiB; the most is {} MiB", text.size() >> 20U,
                       limits.document_bytes >> 20U));
  }
  const std::string excess = json_excess(text, {.depth = limits.depth, .keys = limits.keys});
  if (!excess.empty()) refuse(source, first_line, excess);
  try {
    return Value::parse(text);
  } catch (const Json::parse_error& error) {
    refuse(source, first_line - 1 + line_at(text, error.byte == 0 ? 0 : error.byte - 1),
           without_place(error.what()));
  } catch (const Json::exception& error) {
    refuse(source, first_line - 1 + line_at(text, place_of_number(text, error.what())),
           without_place(error.what()));
  }
}

/// What all parts of one file go through.
class Parser {
 public:
  Parser(std::string source, const ReadLimits& limits)
      : source_(std::move(source)), limits_(limits) {}

  void add(Json value, std::size_t line) {
    if (value.is_array()) {
      for (Json& item : value) add(std::move(item), line);
      return;
    }
    if (!value.is_object() || !value.contains("schema") || !value["schema"].is_string()) {
      refuse(source_, line, "not a document of rdmabench: it has no \"schema\"");
    }
    if (value.contains("documents")) {
      if (!is_list_of_objects(value["documents"])) {
        refuse(source_, line, "\"documents\" is not a list of objects");
      }
      for (Json& item : value["documents"]) add(std::move(item), line);
      return;
    }
    const std::string schema = value["schema"];
    if (schema == kFabricSchema) {
      fabric_.add(value, documents_, [&](const std::string& why) { refuse(source_, line, why); });
    } else {
      check(schema, value, line);
      documents_.push_back({{}, schema, body_of(std::move(value))});
    }
  }

  void add_measurement(const nlohmann::json& record, std::size_t line) {
    fabric_.measure(record, documents_,
                    [&](const std::string& why) { refuse(source_, line, why); });
  }

  /// A record of a stream may leave out the schema that the first one had.
  void add_line(Json value, std::size_t line) {
    if (value.is_object() && value.contains("record") && !value.contains("schema")) {
      value["schema"] = kFabricSchema;
    }
    add(std::move(value), line);
  }

  void note(std::string text) {
    if (!documents_.empty()) documents_.back().notes.push_back(std::move(text));
  }

  std::vector<Document> take() && {
    if (documents_.empty()) refuse(source_, 1, "the file holds no document");
    for (std::size_t i = 0; i < documents_.size(); ++i) {
      documents_[i].source =
          documents_.size() == 1 ? source_ : fmt::format("{}#{}", source_, i + 1);
    }
    return std::move(documents_);
  }

 private:
  void check(const std::string& schema, const Json& value, std::size_t line) const {
    const DocumentKind* const kind = find_kind(schema);
    if (kind == nullptr) {
      std::vector<std::string_view> known;
      for (const DocumentKind* one : document_kinds()) known.push_back(one->schema);
      refuse(source_, line,
             fmt::format("schema \"{}\" is not one of {}", schema, fmt::join(known, ", ")));
    }
    if (schema == kCompareSchema && value.contains("plan"))
      return;  // of launches, not a comparison
    const auto list = value.find(kind->list);
    if (list == value.end() || !is_list_of_objects(*list)) {
      refuse(source_, line,
             fmt::format(
                 "says that it is {}, but has no list of objects \"{}\" as rdmabench {} writes it",
                 schema, kind->list, kind->written_by));
    }
  }

  std::string source_;
  ReadLimits limits_;
  std::vector<Document> documents_;
  FabricStream fabric_{limits_};
};

bool blank(std::string_view text) {
  return trimmed(text).empty();
}

/// JSON Lines: whether the first line that is not blank is a whole value by itself.
bool is_lines(std::string_view text) {
  const std::string_view all = trimmed(text);
  return trimmed(all.substr(0, all.find('\n'))).ends_with('}');
}

void parse_lines(std::string_view text, const std::string& source, const ReadLimits& limits,
                 Parser& parser) {
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = text.find('\n');
    const bool finished = end != std::string_view::npos;
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(finished ? end + 1 : text.size());
    if (blank(one)) continue;
    Json value;
    nlohmann::json measurement;  // there are millions: taken as read_fields() wants it
    const bool measured = one.starts_with(R"({"record":"measurement",)");  // as it is written
    try {
      if (measured) {
        measurement = parse_value<nlohmann::json>(one, source, line, limits);
      } else {
        value = parse_value(one, source, line, limits);
      }
    } catch (const Error&) {
      if (finished || line == 1) throw;
      parser.note(fmt::format("Line {} was not written to its end and was left out.", line));
      return;
    }
    measured ? parser.add_measurement(measurement, line) : parser.add_line(std::move(value), line);
  }
}

}  // namespace

std::vector<Document> parse_documents(std::string_view text, const std::string& source,
                                      const std::string& program, const ReadLimits& limits) {
  if (is_imported(text)) {
    refuse_if(text.size() > limits.tool_bytes,
              fmt::format("{}: what another tool printed has {} bytes", source, text.size()),
              fmt::format("At most {} are read at once: split it.", limits.tool_bytes));
    std::vector<Document> documents;
    for (Json& body : imported_documents(text, source, program)) {
      std::string schema = text_of(body, "schema");
      documents.push_back({source, std::move(schema), body_of(std::move(body))});
    }
    for (std::size_t i = 0; documents.size() > 1 && i < documents.size(); ++i) {
      documents[i].source = fmt::format("{}#{}", source, i + 1);
    }
    return documents;
  }
  import::checked_program(program);
  if (!blank(text) && !begins_as_json(text)) {
    throw Error(
        Fault::usage,
        fmt::format("'{}', line 1: neither JSON nor the text of a tool that is known", source),
        fmt::format("Give what rdmabench wrote with --format json, or a table of {}.",
                    import::known_tools()));
  }
  Parser parser(source, limits);
  if (is_lines(text)) {
    parse_lines(text, source, limits, parser);
  } else if (!blank(text)) {
    parser.add(parse_value(text, source, 1, limits), 1);
  }
  return std::move(parser).take();
}

std::vector<std::string> document_files(const std::string& path,
                                        const std::set<std::string>& endings) {
  namespace fs = std::filesystem;
  static const std::set<std::string> kPrinted{".txt", ".log", ".out"};
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  std::vector<std::string> printed;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string ending = entry->path().extension();
    if (endings.contains(ending)) files.push_back(entry->path());
    if (kPrinted.contains(ending)) printed.push_back(entry->path());
  }
  if (error) throw Error(Fault::usage, fmt::format("list '{}'", path), {}, error.value());
  if (files.empty()) files = std::move(printed);
  if (files.empty()) {
    throw Error(Fault::usage,
                fmt::format("no *{} and no *{} in '{}'", fmt::join(endings, ", *"),
                            fmt::join(kPrinted, ", *"), path),
                "Write results there, as 'rdmabench lat --format json --output FILE' does.");
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Document> read_documents(const std::string& path, const std::string& program,
                                     const ReadLimits& limits) {
  refuse_if(path == "-", "'-' is not a file",
            "Name one; of what was read from standard input give the text.");
  return parse_documents(read_document(path, limits.file_bytes), path, program, limits);
}

FolderDocuments read_folders(const std::vector<std::string>& paths,
                             const std::set<std::string>& endings, const std::string& program) {
  import::checked_program(program);
  FolderDocuments out;
  for (const std::string& path : paths) {
    std::vector<Document> read;
    std::vector<std::string> left_out;
    for (const std::string& file : document_files(path, endings)) {
      try {
        for (Document& one : read_documents(file, program)) read.push_back(std::move(one));
      } catch (const Error& error) {
        if (file == path || error.fault() != Fault::usage) throw;
        left_out.emplace_back(error.what());
      }
    }
    if (read.empty() && !left_out.empty()) {
      throw Error(Fault::usage, left_out.front(),
                  fmt::format("'{}' has no file that could be read.", path));
    }
    std::move(read.begin(), read.end(), std::back_inserter(out.documents));
    std::move(left_out.begin(), left_out.end(), std::back_inserter(out.left_out));
  }
  return out;
}

}  // namespace rdmabench::inline v1::report
