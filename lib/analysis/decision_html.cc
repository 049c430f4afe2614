// A decision as one page of HTML: no script, nothing from elsewhere, one sheet of paper.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

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

// Step times as an inline SVG.

constexpr double kWidth = 520;
constexpr double kHeight = 230;
constexpr double kLeft = 48;
constexpr double kTop = 26;
constexpr double kBottom = 40;
constexpr double kLetter = 8.2;    ///< of the 13 px font, at most
constexpr double kLine = 16;       ///< between two labels
constexpr std::size_t kName = 18;  ///< columns of a name; longer ones are cut

std::string label_of(const std::string& name) {
  return display_width(name) <= kName ? name : cut_to_width(name, kName - 2) + "..";
}

class Drawing {
 public:
  explicit Drawing(const PageChart& chart) : chart_(chart) {
    top_s_ = chart.ticks.back() * chart.unit_s;
    std::size_t widest = 0;
    for (const std::string& name : {chart.a.name, chart.b.name, chart.compute.text}) {
      widest = std::max(widest, display_width(label_of(name)));
    }
    right_ = kWidth - 12 - static_cast<double>(widest) * kLetter;
  }

  std::string draw() {
    svg_ =
        fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                    kWidth, kHeight, escaped_for_html(chart_.step.text));
    draw_axes();
    draw_band("a", chart_.a);
    draw_band("b", chart_.b);
    const double compute = y(chart_.compute_s);
    svg_ +=
        fmt::format("<path class=\"both\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kLeft, compute, right_);
    draw_line("a", chart_.a);
    draw_line("b", chart_.b);
    draw_labels();
    return svg_ + "</svg>\n";
  }

 private:
  double x(double nodes) const {
    const double first = chart_.a.points.front().nodes;
    const double last = chart_.a.points.back().nodes;
    if (last <= first) return (kLeft + right_) / 2;
    return kLeft + (right_ - kLeft) * std::log(nodes / first) / std::log(last / first);
  }
  double y(double seconds) const {
    return kHeight - kBottom - (kHeight - kBottom - kTop) * seconds / top_s_;
  }
  void put_text(double at_x, double at_y, const char* anchor, const std::string& text,
                const char* kind = "t") {
    svg_ +=
        fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                    kind, at_x, at_y, anchor, escaped_for_html(text));
  }

  void draw_axes() {
    for (const double tick : chart_.ticks) {
      const double at = y(tick * chart_.unit_s);
      svg_ +=
          fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kLeft, at, right_);
      put_text(kLeft - 6, at + 4, "end", fmt::format("{:g}", tick));
    }
    put_text(4, 14, "start", chart_.step.text);
    put_text((kLeft + right_) / 2, kHeight - 6, "middle", chart_.axis.text);
    // Numbers of nodes that would touch the one before, or the last one, are left out.
    const auto& points = chart_.a.points;
    const auto half = [](double nodes) {
      return static_cast<double>(Shown::number("", nodes).shown.size()) * kLetter / 2 + 3;
    };
    const double last = x(points.back().nodes) - half(points.back().nodes);
    double free_from = -kWidth;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double at = x(points[i].nodes);
      const double side = half(points[i].nodes);
      const bool is_last = i + 1 == points.size();
      if (!is_last && (at - side < free_from || at + side > last)) continue;
      put_text(at, kHeight - kBottom + 18, "middle", Shown::number("", points[i].nodes).shown);
      free_from = at + side;
    }
  }

  void draw_band(const char* kind, const PageChart::Line& line) {
    std::string there;
    std::string back;
    for (const PageChart::Point& point : line.points) {
      if (!point.low_s || !point.high_s) return;
      there += fmt::format("{}{:.1f} {:.1f}", there.empty() ? "M" : "L", x(point.nodes),
                           y(*point.high_s));
      back.insert(0, fmt::format("L{:.1f} {:.1f}", x(point.nodes), y(*point.low_s)));
    }
    svg_ += fmt::format("<path class=\"band {}\" d=\"{}{}Z\"/>\n", kind, there, back);
  }

  void draw_line(const char* kind, const PageChart::Line& line) {
    std::string path;
    std::string marks;
    for (const PageChart::Point& point : line.points) {
      const double at_x = x(point.nodes);
      const double at_y = y(point.step_s);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at_x, at_y);
      marks += *kind == 'a' ? fmt::format(
                                  "<circle class=\"mark a\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
                                  "r=\"3.5\"/>",
                                  at_x, at_y)
                            : fmt::format(
                                  "<rect class=\"mark b\" x=\"{:.1f}\" y=\"{:.1f}\" "
                                  "width=\"7\" height=\"7\"/>",
                                  at_x - 3.5, at_y - 3.5);
    }
    svg_ += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n{}\n", kind, path, marks);
  }

  /// At the ends of the lines, moved apart where they would touch.
  void draw_labels() {
    struct Label {
      double at = 0;
      std::string text;
      const char* kind;
    };
    std::array<Label, 3> labels{
        {{y(chart_.a.points.back().step_s), label_of(chart_.a.name), "name a"},
         {y(chart_.b.points.back().step_s), label_of(chart_.b.name), "name b"},
         {y(chart_.compute_s), label_of(chart_.compute.text), "name"}}};
    std::sort(labels.begin(), labels.end(),
              [](const Label& upper, const Label& lower) { return upper.at < lower.at; });
    for (std::size_t i = 1; i < labels.size(); ++i) {
      labels[i].at = std::max(labels[i].at, labels[i - 1].at + kLine);
    }
    double lowest = kHeight - kBottom;
    for (std::size_t i = labels.size(); i-- > 0; lowest = labels[i].at - kLine) {
      labels[i].at = std::min(labels[i].at, lowest);
    }
    for (const Label& label : labels) {
      put_text(right_ + 8, label.at + 4, "start", label.text, label.kind);
    }
  }

  const PageChart& chart_;
  double top_s_ = 1;
  double right_ = kWidth;
  std::string svg_;
};

struct HtmlWriter {
  std::string operator()(const Phrase& phrase) const { return tag("p", phrase.text); }
  std::string operator()(const PageTable& table) const {
    std::string text = fmt::format("<div class=\"scroll\"><table{}>\n<thead>{}</thead>\n<tbody>\n",
                                   table.words ? " class=\"words\"" : "", cells("th", table.heads));
    for (const auto& row : table.rows) text += cells("td", row);
    return text + "</tbody></table></div>\n";
  }
  std::string operator()(const PageChart& chart) const { return Drawing(chart).draw(); }
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
