#include "decision_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "decision_values.h"

namespace rdmabench::analysis {
namespace {

constexpr std::size_t kTableRows = 6;  ///< of the step times, so that the page is one sheet
constexpr std::size_t kFlips = 3;

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

class Builder {
 public:
  Builder(const Decision& decision, Language language)
      : decision_(decision),
        options_(decision.options),
        projection_(decision.options.projection),
        shown_(language),
        a_(Shown::text("a", options_.a_name)),
        b_(Shown::text("b", options_.b_name)) {
    page_.language = language;
    page_.answer = decision.answer;
  }

  Page make() {
    add_head();
    add_answer();
    add_money();
    add_steps();
    add_nodes();
    add_sure();
    add_flips();
    add_next();
    add_basis();
    return std::move(page_);
  }

 private:
  using Values = std::vector<Value>;

  Phrase say(std::string_view key, Values values = {}) const {
    return shown_.say(key, std::move(values));
  }
  /// With the names of both networks.
  Phrase say_named(std::string_view key, Values values = {}) const {
    values.insert(values.begin(), {a_, b_});
    return say(key, std::move(values));
  }
  static bool has_text(std::string_view key) {
    const std::span<const TextRow> texts = decision_texts();
    return std::any_of(texts.begin(), texts.end(),
                       [key](const TextRow& row) { return row.key == key; });
  }
  void open(std::string key, std::optional<Phrase> title) {
    page_.sections.push_back({std::move(key), std::move(title), {}});
  }
  template <class Block>
  void put(Block block) {
    page_.sections.back().blocks.emplace_back(std::move(block));
  }

  Phrase parallel() const {
    return say(projection_.job.parallel == Parallel::sharded ? "job_sharded" : "job_data");
  }

  void add_head() {
    const Job& job = projection_.job;
    page_.question = say_named("question");
    page_.subject =
        say("subject",
            {Shown::text("job", options_.job), Shown::text("parallel", parallel().text),
             Shown::number("tokens", job.tokens_per_gpu), Shown::number("gpus", job.gpus_per_node),
             Shown::number("from", projection_.values.front()),
             Shown::number("to", projection_.values.back()),
             Shown::text("operation", decision_.projection.a.operation)});
    page_.answer_word = say(decision_.answer == Answer::yes  ? "answer_yes"
                            : decision_.answer == Answer::no ? "answer_no"
                                                             : "answer_not_proven");
  }

  /// A ratio of A to B as "less" or "more", and how wide its range is.
  Phrase change(const std::string& key, const Likely& ratio, Values values) const {
    const bool less = ratio.value <= 1;
    std::string full = key + (less ? "_less" : "_more");
    values.push_back(Shown::percent("change", std::abs(1 - ratio.value)));
    if (!ratio.low) return say_named(full + "_one", std::move(values));
    double low = less ? 1 - *ratio.high : *ratio.low - 1;
    const double high = less ? 1 - *ratio.low : *ratio.high - 1;
    if (low < 0) {
      full += "_wide";
      low = -low;
    }
    values.push_back(Shown::percent("low", low));
    values.push_back(Shown::percent("high", high));
    return say_named(full, std::move(values));
  }

  void add_answer() {
    open("answer", std::nullopt);
    const ProjectionRow& row = judged();
    put(change("time", decision_.ratio,
               {Shown::number("nodes", decision_.nodes), shown_.time("step_a", row.a->time.step_s),
                shown_.time("step_b", row.b->time.step_s)}));
    if (decision_.cost_ratio) put(change("cost", *decision_.cost_ratio, {}));
    put(decision_.cost_ratio
            ? say_named("rule_cost", {Shown::number("nodes", decision_.nodes)})
            : say_named("rule_time", {Shown::percent("margin", projection_.settings.margin)}));
  }

  /// The same value under another name.
  static Value as(std::string name, const Value& value) {
    return {std::move(name), value.raw, value.shown};
  }
  Phrase cell(const Value& value) const { return say("cell", {as("value", value)}); }
  template <class Make>
  Phrase likely_cell(const Likely& likely, Make value_of) const {
    if (!likely.low) return say("cell", {value_of("value", likely.value)});
    return say("cell_likely", {value_of("value", likely.value), value_of("low", *likely.low),
                               value_of("high", *likely.high)});
  }
  Phrase time_cell(const Likely& likely) const {
    const double like = std::max({std::abs(likely.value), std::abs(likely.low.value_or(0)),
                                  std::abs(likely.high.value_or(0))});
    const Value value = shown_.time("value", likely.value, like);
    if (!likely.low) return say("cell", {value});
    return say("cell_likely", {value, Shown::time_like("low", *likely.low, like),
                               Shown::time_like("high", *likely.high, like)});
  }
  Phrase say_of(std::string_view key, const Value& name) const {
    return say(key, {as("name", name)});
  }

  void add_money() {
    const bool priced = decision_.cost_ratio.has_value();
    open("money", say_named(priced ? "title_money" : "title_time"));
    if (priced) put(prices());
    put(premium());
    if (priced) put(premium_price());
    PageTable table;
    table.heads = {say("head_work", {Shown::number("nodes", decision_.nodes)}),
                   say_of("head_name", a_), say_of("head_name", b_), say_named("head_saved")};
    for (const Work& work : decision_.works) {
      const auto label = [&](const char* of) {
        return say_named(fmt::format("work_{}_{}", work.kind, of),
                         {Shown::number("steps", work.steps), Shown::number("hours", 730)});
      };
      table.rows.push_back({label("time"), cell(shown_.time("a", work.a_s)),
                            cell(shown_.time("b", work.b_s)), time_cell(work.saved_s)});
      if (!work.saved_cost) continue;
      table.rows.push_back({label("cost"), cell(Shown::money("a", *work.a_cost)),
                            cell(Shown::money("b", *work.b_cost)),
                            likely_cell(*work.saved_cost, Shown::money)});
    }
    put(std::move(table));
    put(say_named("work_meaning"));
    if (!priced) put(say("money_none"));
  }

  Phrase prices() const {
    const double a = *projection_.price_a;
    const double b = *projection_.price_b;
    return say_named(
        a > b   ? "price_more"
        : a < b ? "price_less"
                : "price_same",
        {Shown::money("price_a", a), Shown::money("price_b", b),
         Shown::money("extra", std::abs(a - b)), Shown::percent("percent", std::abs(a / b - 1))});
  }

  Phrase premium() const {
    const Likely& premium = decision_.premium;
    const bool up = premium.value >= 0;
    const std::string key = up ? "premium_up" : "premium_down";
    const auto percent = [](const char* name, double share) {
      return Shown::percent(name, std::abs(share));
    };
    if (!premium.low) return say_named(key + "_one", {percent("premium", premium.value)});
    const bool wide = *premium.low < 0 && *premium.high > 0;
    const bool turned = !up && !wide;  // both are discounts: the smaller one first
    return say_named(
        wide ? key + "_wide" : key,
        {percent("premium", premium.value), percent("low", turned ? *premium.high : *premium.low),
         percent("high", turned ? *premium.low : *premium.high)});
  }

  Phrase premium_price() const {
    const double b = *projection_.price_b;
    const Likely& premium = decision_.premium;
    const Value price = Shown::money("price", b * (1 + premium.value));
    if (!premium.low) return say_named("premium_price_one", {price});
    return say_named("premium_price", {price, Shown::money("low", b * (1 + *premium.low)),
                                       Shown::money("high", b * (1 + *premium.high))});
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
    open("steps", say("title_steps"));
    const std::vector<ProjectionRow>& rows = decision_.projection.rows;
    const double compute = rows.back().a->time.compute_s;
    put(say("steps_split", {shown_.time("compute", compute)}));
    put(chart());
    PageTable table;
    table.heads = {say("head_nodes"),       say_of("head_network", a_), say_of("head_network", b_),
                   say_of("head_step", a_), say_of("head_step", b_),    say_named("head_change")};
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
      put(say("steps_left_out", {Shown::count("shown", count), Shown::count("all", rows.size())}));
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
    chart.compute = say("chart_compute");
    chart.axis = say("chart_axis");
    chart.step =
        say("chart_step", {Shown::text("unit", say(most < 1 ? "word_ms" : "word_s").text)});
    return chart;
  }

  Phrase paying_nodes(const PayingNodes& paying) const {
    const double from = projection_.values.front();
    const double to = projection_.values.back();
    const std::vector<PayingSpan>& spans = paying.spans;
    const Values range{Shown::number("from", from), Shown::number("to", to)};
    if (spans.empty()) return say("pays_never", range);
    const PayingSpan& first = spans.front();
    const Value at = Shown::number("at", first.from);
    const Value until = Shown::number("until", first.to);
    if (spans.size() > 1) {
      return say("pays_parts", {Shown::count("parts", spans.size()), at, until});
    }
    if (first.from <= from && first.to >= to) return say("pays_always", range);
    if (first.to >= to) return say("pays_from", {at});
    if (first.from <= from) return say("pays_until", {Shown::number("at", first.to)});
    return say("pays_between", {at, until});
  }

  void add_nodes() {
    open("nodes", say_named("title_nodes"));
    PageTable table;
    table.words = true;
    table.heads = {say("head_overlap"), say_named("head_pays")};
    const double assumed = projection_.job.overlap;
    for (const PayingNodes& paying : decision_.paying) {
      const bool is_assumed = paying.overlap == assumed;
      if (paying.kind == "assumed" && (assumed == 0 || assumed == 1)) continue;  // a row already
      table.rows.push_back(
          {say("overlap_" + paying.kind + (is_assumed && paying.kind != "assumed" ? "_too" : ""),
               {Shown::percent("overlap", paying.overlap)}),
           paying_nodes(paying)});
    }
    put(std::move(table));
  }

  Phrase launches(const Value& name, const Evidence& evidence) const {
    std::vector<std::string> causes;
    for (const auto& [code, count] : evidence.suspicions) {
      const std::string key = "cause_" + code;
      const Phrase cause =
          has_text(key) ? say(key) : say("cause_other", {Shown::text("code", code)});
      causes.push_back(
          say("cause_count", {Shown::text("cause", cause.text), Shown::count("count", count)})
              .text);
    }
    const std::size_t all = evidence.latency_launches + evidence.bandwidth_launches;
    const std::size_t suspect = evidence.suspect_launches;
    Value latency = Shown::count("latency", evidence.latency_launches);
    latency.shown = say(evidence.latency_launches == 1 ? "count_launch" : "count_launches",
                        {as("count", latency)})
                        .text;
    return say(suspect == 0                ? "launches_clean"
               : suspect < all || all == 1 ? "launches_some"
               : all == 2                  ? "launches_both"
                                           : "launches_all",
               {as("name", name), latency, Shown::count("bandwidth", evidence.bandwidth_launches),
                Shown::count("suspect", suspect),
                Shown::text("what", fmt::format("{}", fmt::join(causes, ", ")))});
  }

  void add_sure() {
    open("sure", say("title_sure"));
    const Settings& settings = projection_.settings;
    const std::string_view ground = name(decision_.ground);
    put(say_named(
        fmt::format("ground_{}", ground.substr(0, ground.find('_'))),
        {Shown::percent("alpha", settings.alpha), Shown::number("needed", kFewestLaunches),
         Shown::number("launches", decision_.launches),
         Shown::number("more", decision_.more_launches.value_or(0)),
         Shown::percent("variation", decision_.variation)}));
    put(launches(a_, decision_.a));
    put(launches(b_, decision_.b));
    if (decision_.launches > 1 && decision_.ground != Ground::noise) {
      put(say("variation", {Shown::percent("variation", decision_.variation)}));
    }
    if (decision_.one_after_the_other) {
      const bool a_first = decision_.a_came_first;
      put(say("order", {as("first", a_first ? a_ : b_), as("second", a_first ? b_ : a_)}));
    }
    put(say("likely_meaning", {Shown::percent("level", 1 - 2 * settings.alpha)}));
  }

  std::string ranges_of(const std::vector<const Flip*>& flips) const {
    std::vector<std::string> ranges;
    ranges.reserve(flips.size());
    for (const Flip* flip : flips) {
      ranges.push_back(say("flip_range", {Shown::text("what", say("what_" + flip->name).text),
                                          shown_.assumption("from", flip->name, flip->from),
                                          shown_.assumption("to", flip->name, flip->to)})
                           .text);
    }
    return fmt::format("{}", fmt::join(ranges, ", "));
  }

  Phrase origin(const std::string& of) const {
    constexpr std::string_view kModel = "model ";
    if (of.starts_with(kModel)) {
      return say("origin_of_model", {Shown::text("name", of.substr(kModel.size()))});
    }
    const std::string key = "origin_" + of;
    return has_text(key) ? say(key) : say("cell", {Shown::text("value", of)});
  }

  void add_flips() {
    open("flips", say("title_flips"));
    if (decision_.flips.empty()) {
      put(say("flips_no_network"));
      return;
    }
    const bool none = std::none_of(decision_.flips.begin(), decision_.flips.end(),
                                   [](const Flip& flip) { return flip.at.has_value(); });
    const std::string key = none ? "flips_none" : "flips_pays";
    const Value nodes = Shown::number("nodes", decision_.nodes);
    put(say_named(decision_.pays ? key : key + "_not", {nodes}));
    PageTable table;
    table.words = true;
    table.heads = {say("head_assumption"), say("head_now"), say("head_origin"), say("head_flip"),
                   say("head_then")};
    std::vector<const Flip*> rest;
    std::vector<const Flip*> cut;
    std::vector<std::string> defaults;
    for (const Flip& flip : decision_.flips) {
      if (!flip.at) {
        if (flip.cut_short && flip.origin == "default") {
          cut.push_back(&flip);
        } else if (flip.from < flip.to) {
          rest.push_back(&flip);
        }
        continue;
      }
      if (table.rows.size() == kFlips) continue;
      const Phrase what = say("what_" + flip.name);
      if (flip.origin == "default") defaults.push_back(what.text);
      table.rows.push_back(
          {what, cell(shown_.assumption("now", flip.name, flip.now)),
           flip.origin == "default" ? say("origin_undecided") : origin(flip.origin),
           say(flip.upwards ? "flip_up" : "flip_down",
               {shown_.assumption("value", flip.name, *flip.at)}),
           say_named(decision_.pays ? "then_pays_not" : "then_pays")});
    }
    if (!table.rows.empty()) put(std::move(table));
    if (!defaults.empty()) {
      put(say("flips_default",
              {Shown::text("names", fmt::format("{}", fmt::join(defaults, ", ")))}));
    }
    if (!rest.empty()) put(say("flips_rest", {nodes, Shown::text("searched", ranges_of(rest))}));
    if (!cut.empty()) put(say("flips_cut", {Shown::text("searched", ranges_of(cut))}));
  }

  void add_command(const char* why, std::string command) {
    put(PageCommand{say(why), std::move(command)});
  }

  /// The flags of the defaults that decide, to be filled in.
  std::string own_values() const {
    std::string flags;
    std::size_t listed = 0;
    for (const Flip& flip : decision_.flips) {
      if (!flip.at || ++listed > kFlips || flip.origin != "default") continue;
      flags += flip.name == "overlap"          ? " --overlap PERCENT"
               : flip.name == "rails"          ? " --rails LINKS"
               : flip.name == "mfu"            ? " --mfu PERCENT"
               : flip.name == "tokens_per_gpu" ? " --tokens TOKENS"
                                               : " --bucket SIZE";
    }
    return flags;
  }

  void add_next() {
    open("next", say("title_next"));
    const bool open_answer = decision_.answer == Answer::not_proven;
    const bool disturbed = decision_.a.suspect_launches + decision_.b.suspect_launches > 0;
    if (disturbed || decision_.ground == Ground::noise) {
      add_command("next_doctor", "rdmabench doctor");
    }
    if (decision_.ground == Ground::noise || decision_.one_after_the_other) {
      // Launches with less noise are not mixed with these.
      add_command(decision_.ground == Ground::noise ? "next_anew" : "next_plan",
                  options_.new_plan_command);
      add_command("next_run_anew", options_.new_run_command);
    } else if (open_answer && decision_.ground != Ground::close) {
      add_command("next_plan",
                  decision_.launches > 1 ? options_.plan_command : options_.new_plan_command);
      add_command("next_run", options_.run_command);
    }
    const std::string own = own_values();
    if (!own.empty()) add_command("next_own", options_.command + own);
    if (decision_.nodes > 1) {
      add_command(
          "next_check",
          fmt::format("srun -N {:.0f} --ntasks-per-node=1 --mpi=pmix rdmabench coll {}",
                      decision_.nodes,
                      projection_.job.parallel == Parallel::data ? "all-reduce"
                                                                 : "all-gather,reduce-scatter"));
    }
  }

  void add_notes(const Value& name, const LinkSamples& samples,
                 std::optional<ProjectedStep> ProjectionRow::*side, PageSmall& small) const {
    for (const auto& [test, sizes] : samples.left_out) {
      small.phrases.push_back(
          say("basis_left_out_" + test, {as("name", name), Shown::text("sizes", sizes)}));
    }
    if (projection_.job.stragglers == Stragglers::none || samples.latency.empty()) return;
    const Curve& curve = *samples.latency[0].latency_ns;
    const std::vector<ProjectionRow>& rows = decision_.projection.rows;
    if (std::any_of(rows.begin(), rows.end(), [&](const ProjectionRow& row) {
          const double bytes = (*(row.*side)).time.message_bytes;
          return bytes > 0 && !curve.covers(bytes);
        })) {
      small.phrases.push_back(
          say("basis_tail", {as("name", name), Shown::number("from", curve.smallest()),
                             Shown::number("to", curve.largest())}));
    }
  }

  Phrase assumed(const Assumption& one) const {
    const Job& job = projection_.job;
    const TimeSource source = decision_.projection.source;
    std::string key = "assumed_" + one.name;
    std::string value = one.value;
    if (one.name == "parallel") {
      value = parallel().text;
    } else if (one.name == "algorithm" || one.name == "stragglers") {
      value = say(one.name + "_" + one.value).text;
    } else if (one.name == "curve") {
      value = say(source == TimeSource::latency     ? "curve_latency"
                  : source == TimeSource::bandwidth ? "curve_bandwidth"
                                                    : "curve_both")
                  .text;
    } else if (one.name == "bytes_per_s_in_node" && job.bytes_per_s_in_node == 0) {
      key += "_none";
    }
    return say(key, {Shown::text("value", value), Shown::text("origin", origin(one.origin).text)});
  }

  void add_basis() {
    open("basis", say("title_basis"));
    put(say("basis_model"));
    PageSmall small;
    for (const Assumption& one : decision_.projection.assumptions) {
      small.phrases.push_back(assumed(one));
    }
    add_notes(a_, decision_.projection.a, &ProjectionRow::a, small);
    add_notes(b_, *decision_.projection.b, &ProjectionRow::b, small);
    if (projection_.extrapolate) small.phrases.push_back(say("basis_extrapolated"));
    put(std::move(small));
  }

  const Decision& decision_;
  const DecisionOptions& options_;
  const ProjectionOptions& projection_;
  Shown shown_;
  Value a_;
  Value b_;
  Page page_;
};

}  // namespace

Page make_page(const Decision& decision, Language language) {
  return Builder(decision, language).make();
}

std::string to_document(const Decision& decision, DecisionFormat format, Language language) {
  const Page page = make_page(decision, language);
  switch (format) {
    case DecisionFormat::markdown:
      return to_markdown(page);
    case DecisionFormat::json:
      return to_json(page, decision);
    case DecisionFormat::html:
      return to_html(page);
    case DecisionFormat::text:
      break;
  }
  return to_text(page);
}

}  // namespace rdmabench::analysis
