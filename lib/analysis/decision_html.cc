// A decision as one page of HTML: no script, nothing from elsewhere, one sheet of paper.
#include <fmt/format.h>

#include "decision_page.h"
#include "rdmabench/report/text_table.h"
#include "report/digest.h"

namespace rdmabench::analysis {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de;
  --a: #0b5cad; --b: #a34400; --yes: #146c2e; --no: #a40e26; --open: #7a5200; }
@media (prefers-color-scheme: dark) { :root { --ground: #0f1419; --ink: #e6edf3; --soft: #9aa7b4;
  --line: #3a434d; --a: #6cb6ff; --b: #ffa657; --yes: #56d364; --no: #ff7b72; --open: #e3b341; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px; max-width: 860px; background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic", NanumGothic, sans-serif;
  overflow-wrap: break-word; text-wrap: pretty; }
:lang(ko) { word-break: keep-all; }
h1 { font-size: 1.5em; line-height: 1.2; margin: 0; }
h2 { font-size: 1.05em; margin: 1em 0 .25em; border-top: 1px solid var(--line); padding-top: .5em; }
p { margin: .3em 0; }
.subject, .small { color: var(--soft); font-size: .87em; }
.verdict { font-size: 2.1em; font-weight: 700; line-height: 1.1; margin: .35em 0 .1em; }
.yes { color: var(--yes); } .no { color: var(--no); } .not-proven { color: var(--open); }
.s-answer p:first-child { font-size: 1.15em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .35em 0; font-size: .92em; font-variant-numeric: tabular-nums; }
th, td { padding: .16em .55em; text-align: right; border-bottom: 1px solid var(--line); vertical-align: bottom;
  overflow-wrap: normal; }
th { font-weight: 600; color: var(--soft); }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
.words th, .words td { text-align: left; }
pre { margin: .1em 0 .4em; padding: .3em .5em; border: 1px solid var(--line); border-radius: 4px; font-size: .85em;
  white-space: pre-wrap; }
.chart { display: block; width: 100%; max-width: 560px; height: auto; }
.chart text { font-size: 13px; fill: var(--soft); font-family: inherit; }
.chart .name.a { fill: var(--a); font-weight: 600; } .chart .name.b { fill: var(--b); font-weight: 600; }
.chart .grid { stroke: var(--line); fill: none; } .chart .both { stroke: var(--soft); fill: none; stroke-dasharray: 2 4; }
.chart .line { fill: none; stroke-width: 2.2; } .chart .line.a { stroke: var(--a); }
.chart .line.b { stroke: var(--b); stroke-dasharray: 7 4; }
.chart .mark.a, .chart .band.a { fill: var(--a); } .chart .mark.b, .chart .band.b { fill: var(--b); }
.chart .band { opacity: .16; stroke: none; }
@page { margin: 7mm 11mm; }
@media print {
  :root { color-scheme: light; --ground: #ffffff; --ink: #000000; --soft: #444444; --line: #bbbbbb; --a: #0b5cad;
    --b: #a34400; --yes: #146c2e; --no: #a40e26; --open: #7a5200; }
  body { max-width: none; padding: 0; font-size: 6.9pt; line-height: 1.18; display: grid;
    grid-template-columns: minmax(0, 36%) minmax(0, 1fr); column-gap: 1.5em; align-content: start; }
  body > * { grid-column: 1 / -1; min-width: 0; }
  body > .s-nodes { grid-column: 1; } body > .s-sure { grid-column: 2; }
  pre { font-size: .8em; }
  h2 { margin: .5em 0 .1em; padding-top: .25em; } p { margin: .14em 0; } table { margin: .15em 0; }
  th, td { padding: .06em .45em; } pre { margin: 0 0 .15em; padding: .1em .3em; }
  .verdict { font-size: 1.8em; margin: .2em 0 .1em; }
  .s-money { display: grid; grid-template-columns: minmax(34%, 1fr) minmax(0, auto); column-gap: 1.5em; align-content: start; }
  .s-money h2 { grid-column: 1 / -1; } .s-money p { grid-column: 1; }
  .s-money .scroll { grid-column: 2; grid-row: 2 / span 5; }
  .s-next { display: grid; grid-template-columns: 30% 1fr; column-gap: 1em; align-items: center; }
  .s-next h2 { grid-column: 1 / -1; } .small { font-size: .8em; line-height: 1.15; }
  .s-steps { display: grid; grid-template-columns: 40% 1fr; column-gap: 1em; align-items: center; }
  .s-steps h2, .s-steps p { grid-column: 1 / -1; }
  .scroll { overflow: visible; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)";

std::string tag(const char* name, std::string_view text) {
  return fmt::format("<{}>{}</{}>\n", name, escaped_for_html(text), name);
}

std::string cells(const char* kind, const std::vector<Phrase>& row) {
  std::string text = "<tr>";
  for (const Phrase& cell : row) {
    text += fmt::format("<{}>{}</{}>", kind, escaped_for_html(cell.text), kind);
  }
  return text + "</tr>\n";
}

struct HtmlWriter {
  std::string operator()(const Phrase& phrase) const { return tag("p", phrase.text); }
  std::string operator()(const PageTable& table) const {
    std::string text = fmt::format("<div class=\"scroll\"><table{}>\n<thead>{}</thead>\n<tbody>\n",
                                   table.words ? " class=\"words\"" : "", cells("th", table.heads));
    for (const auto& row : table.rows) text += cells("td", row);
    return text + "</tbody></table></div>\n";
  }
  std::string operator()(const PageChart& chart) const { return to_svg(chart); }
  std::string operator()(const PageCommand& command) const {
    return tag("p", command.why.text) + tag("pre", command.command);
  }
  std::string operator()(const PageSmall& small) const {
    std::string text = "<p class=\"small\">";
    for (std::size_t i = 0; i < small.phrases.size(); ++i) {
      text += fmt::format("{}<span>{}</span>", i == 0 ? "" : "; ",
                          escaped_for_html(small.phrases[i].text));
    }
    return text + "</p>\n";
  }
};

}  // namespace

std::string escaped_for_html(std::string_view text) {
  return report::replaced(
      report::printable(text),
      {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string to_html(const Page& page) {
  const char* kind = page.answer == Answer::yes  ? "yes"
                     : page.answer == Answer::no ? "no"
                                                 : "not-proven";
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"rdmabench decide\">\n{}<style>{}</style>\n</head>\n<body>\n",
      page.language == Language::korean ? "ko" : "en", tag("title", page.question.text), kStyle);
  text += tag("h1", page.question.text);
  text += fmt::format("<p class=\"subject\">{}</p>\n", escaped_for_html(page.subject.text));
  text += fmt::format("<p class=\"verdict {}\">{}</p>\n", kind,
                      escaped_for_html(page.answer_word.text));
  for (const PageSection& section : page.sections) {
    text += fmt::format("<section class=\"s-{}\">\n", section.key);
    if (section.title) text += tag("h2", section.title->text);
    for (const PageBlock& block : section.blocks) text += std::visit(HtmlWriter{}, block);
    text += "</section>\n";
  }
  return text + "</body>\n</html>\n";
}

}  // namespace rdmabench::analysis
