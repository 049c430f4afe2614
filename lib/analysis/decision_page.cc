#include "decision_page.h"

#include <algorithm>
#include <cmath>

#include "decision_page_parts.h"
#include "rdmabench/report/documents.h"
#include "report/body.h"
#include "report/compared.h"
#include "results/row.h"

namespace rdmabench::inline v1::analysis {
namespace {

constexpr std::size_t kTableRows = 6;  ///< of the step times, so that the page is one sheet

/// From 0 in even steps to at least `most`: about four, of 1, 2, 2.5 or 5 times a power of ten.
std::vector<double> ticks_to(double most) {
  constexpr int kTicks = 4;
  const double rough = most / kTicks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.5, 2.0, 1.0}) {
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  }
  std::vector<double> ticks{0};
  while (ticks.back() < most * (1 - 1e-9)) {
    ticks.push_back(static_cast<double>(ticks.size()) * step);
  }
  return ticks;
}

/// The texts of an estimate whose range lies on one side, on both sides, or is not known.
struct Ranges {
  Text narrow;
  Text wide;
  Text none;
};

class Builder : private PageParts {
 public:
  using PageParts::PageParts;

  void add() {
    add_head();
    add_answer();
    add_money();
    add_steps();
    add_nodes();
  }

 private:
  void add_head() {
    const Job& job = projection_.job;
    page_.question = say_named(Text::question);
    page_.subject =
        say(Text::subject,
            {Shown::text(
                 "job",
                 options_.job.empty()
                     ? say(Text::job_of_parameters, {shown_.quantity("value", job.parameters)}).text
                     : options_.job),
             Shown::text("parallel", parallel().text), Shown::number("tokens", job.tokens_per_gpu),
             Shown::number("gpus", job.gpus_per_node),
             Shown::number("from", projection_.values.front()),
             Shown::number("to", projection_.values.back()),
             Shown::text("operation", decision_.projection.a.operation)});
    page_.answer_word = say(decision_.answer == Answer::yes  ? Text::answer_yes
                            : decision_.answer == Answer::no ? Text::answer_no
                                                             : Text::answer_not_proven);
  }

  /// A ratio of A to B as less or more, and how wide its range is.
  Phrase change(const Ranges& if_less, const Ranges& if_more, Text noisy, const Likely& ratio,
                Values values) const {
    const bool less = ratio.value <= 1;
    const Ranges& texts = less ? if_less : if_more;
    if (decision_.reason == AnswerReason::noise && ratio.low &&
        (report::is_told_in_times(*ratio.low) || report::is_told_in_times(*ratio.high))) {
      return say_named(noisy, std::move(values));
    }
    values.push_back(Shown::percent("change", std::abs(1 - ratio.value)));
    if (!ratio.low) return say_named(texts.none, std::move(values));
    const double low = less ? 1 - *ratio.high : *ratio.low - 1;
    const double high = less ? 1 - *ratio.low : *ratio.high - 1;
    values.push_back(Shown::percent("low", std::abs(low)));
    values.push_back(Shown::percent("high", high));
    return say_named(low < 0 ? texts.wide : texts.narrow, std::move(values));
  }

  void add_answer() {
    open("answer", std::nullopt);
    // The sentence that decides comes first.
    if (decision_.answer == Answer::not_proven) put(ground());
    const Value nodes = Shown::number("nodes", decision_.nodes);
    if (decision_.cost_ratio) {
      put(change({Text::cost_less, Text::cost_less_wide, Text::cost_less_one},
                 {Text::cost_more, Text::cost_more_wide, Text::cost_more_one}, Text::cost_noisy,
                 *decision_.cost_ratio, {nodes}));
    }
    const ProjectionRow& row = judged();
    put(change({Text::time_less, Text::time_less_wide, Text::time_less_one},
               {Text::time_more, Text::time_more_wide, Text::time_more_one}, Text::time_noisy,
               decision_.ratio,
               {nodes, shown_.time("step_a", row.a->time.step_s),
                shown_.time("step_b", row.b->time.step_s)}));
    put(say_named(decision_.cost_ratio ? Text::rule_cost : Text::rule_time,
                  {Shown::percent("margin", projection_.settings.margin)}));
  }

  template <class Make>
  Phrase likely_cell(const Likely& likely, Make value_of) const {
    if (!likely.low) return say(Text::cell, {value_of("value", likely.value)});
    return say(Text::cell_likely, {value_of("value", likely.value), value_of("low", *likely.low),
                                   value_of("high", *likely.high)});
  }
  Phrase time_cell(const Likely& likely) const {
    const double like = std::max({std::abs(likely.value), std::abs(likely.low.value_or(0)),
                                  std::abs(likely.high.value_or(0))});
    const Value value = shown_.time("value", likely.value, like);
    if (!likely.low) return say(Text::cell, {value});
    return say(Text::cell_likely, {value, Shown::time_like("low", *likely.low, like),
                                   Shown::time_like("high", *likely.high, like)});
  }
  Phrase say_of(Text key, const Value& name) const { return say(key, {as("name", name)}); }

  void add_money() {
    const bool priced = decision_.cost_ratio.has_value();
    open("money", say_named(priced ? Text::title_money : Text::title_time));
    if (priced) put(prices());
    put(premium());
    if (priced) put(premium_price());
    PageTable table;
    table.heads = {say(Text::head_work, {Shown::number("nodes", decision_.nodes)}),
                   say_of(Text::head_name, a_), say_of(Text::head_name, b_),
                   say_named(Text::head_saved)};
    for (const Work& work : decision_.works) {
      const auto label = [&](Text thousand, Text run, Text month) {
        return say_named(work.kind == "run"          ? run
                         : work.kind == "month_of_b" ? month
                                                     : thousand,
                         {Shown::number("steps", work.steps), Shown::number("hours", 730)});
      };
      table.rows.push_back(
          {label(Text::work_thousand_steps_time, Text::work_run_time, Text::work_month_of_b_time),
           cell(shown_.time("a", work.a_s)), cell(shown_.time("b", work.b_s)),
           time_cell(work.saved_s)});
      if (!work.saved_cost) continue;
      table.rows.push_back(
          {label(Text::work_thousand_steps_cost, Text::work_run_cost, Text::work_month_of_b_cost),
           cell(shown_.money("a", *work.a_cost)), cell(shown_.money("b", *work.b_cost)),
           likely_cell(*work.saved_cost, [this](const char* name, double value) {
             return shown_.money(name, value);
           })});
    }
    put(std::move(table));
    put(say_named(Text::work_meaning));
    if (!priced) put(say(Text::money_none));
  }

  Phrase prices() const {
    const double a = *projection_.price_a;
    const double b = *projection_.price_b;
    return say_named(
        a > b   ? Text::price_more
        : a < b ? Text::price_less
                : Text::price_same,
        {shown_.money("price_a", a), shown_.money("price_b", b),
         shown_.money("extra", std::abs(a - b)), Shown::percent("percent", std::abs(a / b - 1))});
  }

  Phrase premium() const {
    const Likely& premium = decision_.premium;
    const bool up = premium.value >= 0;
    const Ranges texts =
        up ? Ranges{Text::premium_up, Text::premium_up_wide, Text::premium_up_one}
           : Ranges{Text::premium_down, Text::premium_down_wide, Text::premium_down_one};
    const auto percent = [](const char* name, double share) {
      return Shown::percent(name, std::abs(share));
    };
    if (!premium.low) return say_named(texts.none, {percent("premium", premium.value)});
    const bool wide = *premium.low < 0 && *premium.high > 0;
    const bool turned = !up && !wide;  // both are discounts: the smaller one first
    return say_named(
        wide ? texts.wide : texts.narrow,
        {percent("premium", premium.value), percent("low", turned ? *premium.high : *premium.low),
         percent("high", turned ? *premium.low : *premium.high)});
  }

  Phrase premium_price() const {
    const double b = *projection_.price_b;
    const Likely& premium = decision_.premium;
    const Value price = shown_.money("price", b * (1 + premium.value));
    if (!premium.low) return say_named(Text::premium_price_one, {price});
    return say_named(Text::premium_price, {price, shown_.money("low", b * (1 + *premium.low)),
                                           shown_.money("high", b * (1 + *premium.high))});
  }

  const ProjectionRow& judged() const { return decision_.projection.rows.back(); }

  /// A's step against B's, as a signed share.
  Phrase against(const ProjectionRow& row) const {
    Likely ratio;
    ratio.value = row.a->time.step_s / row.b->time.step_s - 1;
    if (const auto& estimate = row.difference->estimate) {
      ratio.low = std::expm1(-estimate->high);
      ratio.high = std::expm1(-estimate->low);
    }
    return likely_cell(ratio, Shown::change);
  }

  void add_steps() {
    open("steps", say(Text::title_steps));
    const std::vector<ProjectionRow>& rows = decision_.projection.rows;
    const double compute = rows.back().a->time.compute_s;
    put(say(Text::steps_split, {shown_.time("compute", compute)}));
    put(chart());
    PageTable table;
    table.heads = {say(Text::head_nodes),          say_of(Text::head_network, a_),
                   say_of(Text::head_network, b_), say_of(Text::head_step, a_),
                   say_of(Text::head_step, b_),    say_named(Text::head_change)};
    const std::size_t count = std::min(rows.size(), kTableRows);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = count < 2 ? 0 : i * (rows.size() - 1) / (count - 1);
      const ProjectionRow& row = rows[index];
      const auto network = [&](const ProjectedStep& step) {
        return cell(shown_.time("value", step.time.step_s - step.time.compute_s));
      };
      table.rows.push_back({cell(Shown::number("nodes", row.value)), network(*row.a),
                            network(*row.b), cell(shown_.time("a", row.a->time.step_s)),
                            cell(shown_.time("b", row.b->time.step_s)), against(row)});
    }
    put(std::move(table));
    if (count < rows.size()) {
      put(say(Text::steps_left_out,
              {Shown::count("shown", count), Shown::count("all", rows.size())}));
    }
  }

  PageChart chart() const {
    PageChart chart;
    chart.a.name = a_.shown;
    chart.b.name = b_.shown;
    double most = 0;
    for (const ProjectionRow& row : decision_.projection.rows) {
      const auto point = [&](const ProjectedStep& step) {
        most = std::max({most, step.time.step_s, step.high_s.value_or(0)});
        return PageChart::Point{row.value, step.time.step_s, step.low_s, step.high_s};
      };
      chart.a.points.push_back(point(*row.a));
      chart.b.points.push_back(point(*row.b));
    }
    chart.compute_s = judged().a->time.compute_s;
    chart.unit_s = most < 1 ? 1e-3 : 1;
    chart.ticks = ticks_to(most / chart.unit_s);
    chart.compute = say(Text::chart_compute);
    chart.axis = say(Text::chart_axis);
    chart.step = say(Text::chart_step,
                     {Shown::text("unit", say(most < 1 ? Text::word_ms : Text::word_s).text)});
    return chart;
  }

  Phrase paying_nodes(const PayingNodes& paying) const {
    const double from = projection_.values.front();
    const double to = projection_.values.back();
    const std::vector<PayingSpan>& spans = paying.spans;
    const Values range{Shown::number("from", from), Shown::number("to", to)};
    if (spans.empty()) return say(Text::pays_never, range);
    const PayingSpan& first = spans.front();
    const Value at = Shown::number("at", first.from);
    const Value until = Shown::number("until", first.to);
    if (spans.size() > 1) {
      return say(Text::pays_parts, {Shown::count("parts", spans.size()), at, until});
    }
    if (first.from <= from && first.to >= to) return say(Text::pays_always, range);
    if (first.to >= to) return say(Text::pays_from, {at});
    if (first.from <= from) return say(Text::pays_until, {Shown::number("at", first.to)});
    return say(Text::pays_between, {at, until});
  }

  void add_nodes() {
    open("nodes", say_named(Text::title_nodes));
    PageTable table;
    table.words = true;
    table.heads = {say(Text::head_overlap), say_named(Text::head_pays)};
    const double assumed = projection_.job.overlap;
    for (const PayingNodes& paying : decision_.paying) {
      const bool is_assumed = paying.overlap == assumed;
      if (paying.kind == "assumed" && (assumed == 0 || assumed == 1)) continue;  // a row already
      table.rows.push_back(
          {say(paying.kind == "none"   ? (is_assumed ? Text::overlap_none_too : Text::overlap_none)
               : paying.kind == "full" ? (is_assumed ? Text::overlap_full_too : Text::overlap_full)
                                       : Text::overlap_assumed,
               {Shown::percent("overlap", paying.overlap)}),
           paying_nodes(paying)});
    }
    put(std::move(table));
  }
};

}  // namespace

Page make_page(const Decision& decision, Language language) {
  Page page;
  Builder(decision, language, page).add();
  add_reasons(decision, language, page);
  return page;
}

std::string to_document(const Decision& decision, DecisionFormat format, Language language,
                        std::string_view generated, std::size_t width) {
  const Page page = make_page(decision, language);
  report::Document document{"decide", std::string(report::kDecideSchema),
                            report::body_of(to_object(page, decision))};
  if (format == DecisionFormat::text) return report::decision_text(json_of(document), width);
  if (format == DecisionFormat::json) return report::to_json(document);
  if (format == DecisionFormat::html) return report::to_html({&document, 1}, generated);
  return report::decision_markdown(json_of(document), 1);
}

}  // namespace rdmabench::inline v1::analysis
