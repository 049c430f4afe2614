// The step times of a decision as an inline SVG.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "decision_page.h"
#include "decision_values.h"

namespace rdmabench::analysis {
namespace {

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

}  // namespace

std::string to_svg(const PageChart& chart) {
  return Drawing(chart).draw();
}

}  // namespace rdmabench::analysis
