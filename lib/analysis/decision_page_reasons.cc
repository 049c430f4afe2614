// Of a decision's page: how sure, what could flip it, what to do next, what it rests on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "base/text.h"
#include "decision_page_parts.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

constexpr std::size_t kFlips = 3;

/// An assumption that is varied, and the option that gives it.
struct FlipWords {
  std::string_view name;
  Text what;
  std::string_view flag;
};
constexpr std::array<FlipWords, 5> kFlipWords{{
    {"overlap", Text::what_overlap, " --overlap PERCENT"},
    {"rails", Text::what_rails, " --rails LINKS"},
    {"mfu", Text::what_mfu, " --mfu PERCENT"},
    {"tokens_per_gpu", Text::what_tokens_per_gpu, " --tokens TOKENS"},
    {"bucket_bytes", Text::what_bucket_bytes, " --bucket SIZE"},
}};

const FlipWords& flip_words(const Flip& flip) {
  return *std::find_if(kFlipWords.begin(), kFlipWords.end() - 1,
                       [&](const FlipWords& one) { return one.name == flip.name; });
}

class Reasons : private PageParts {
 public:
  using PageParts::PageParts;

  void add() {
    add_sure();
    add_flips();
    add_next();
    add_basis();
  }

 private:
  Phrase launches(const Value& name, const LinkSamples& samples) const {
    std::vector<std::string> causes;
    for (const auto& [code, count] : samples.suspected) {
      const Phrase cause =
          say(find_text("cause_" + code).value_or(Text::cause_other), {Shown::text("code", code)});
      causes.push_back(
          say(Text::cause_count, {Shown::text("cause", cause.text), Shown::count("count", count)})
              .text);
    }
    const std::size_t all = samples.latency.size() + samples.bandwidth.size();
    const std::size_t suspect = samples.suspect_launches;
    Value latency = Shown::count("latency", samples.latency.size());
    latency.shown = say(samples.latency.size() == 1 ? Text::count_launch : Text::count_launches,
                        {as("count", latency)})
                        .text;
    const std::size_t unknown = samples.unwatched_launches;
    return say(suspect == 0 && unknown > 0 ? Text::launches_unknown
               : suspect == 0              ? Text::launches_clean
               : suspect < all || all == 1 ? Text::launches_some
               : all == 2                  ? Text::launches_both
                                           : Text::launches_all,
               {as("name", name), latency, Shown::count("bandwidth", samples.bandwidth.size()),
                Shown::count("suspect", suspect),
                Shown::text("what", fmt::format("{}", fmt::join(causes, ", ")))});
  }

  void add_sure() {
    open("sure", say(Text::title_sure));
    const Settings& settings = projection_.settings;
    if (decision_.answer != Answer::not_proven) put(ground());  // else it is the first sentence
    const auto put_launches = [this](const Value& name, const LinkSamples& samples) {
      put(launches(name, samples));
      if (samples.suspect_launches == 0 || samples.unwatched_launches == 0) return;
      put(say(Text::launches_unknown_too,
              {as("name", name), Shown::count("count", samples.unwatched_launches)}));
    };
    put_launches(a_, decision_.projection.a);
    put_launches(b_, *decision_.projection.b);
    if (decision_.launches > 1 && decision_.reason != AnswerReason::noise) {
      put(say(decision_.units < 2 ? Text::variation : Text::variation_units,
              {Shown::percent("variation", decision_.variation)}));
    }
    if (decision_.order.separate) {
      const bool a_first = decision_.order.pattern.front() == 'A';
      put(say(Text::order, {as("first", a_first ? a_ : b_), as("second", a_first ? b_ : a_)}));
    }
    put(say(
        decision_.units < 2 ? Text::likely_meaning_here : Text::likely_meaning,
        {Shown::percent("level", 1 - 2 * settings.alpha), Shown::count("units", decision_.units)}));
  }

  std::string ranges_of(const std::vector<const Flip*>& flips) const {
    std::vector<std::string> ranges;
    ranges.reserve(flips.size());
    for (const Flip* flip : flips) {
      ranges.push_back(say(Text::flip_range, {Shown::text("what", say(flip_words(*flip).what).text),
                                              shown_.assumption("from", flip->name, flip->from),
                                              shown_.assumption("to", flip->name, flip->to)})
                           .text);
    }
    return fmt::format("{}", fmt::join(ranges, ", "));
  }

  Phrase origin(const std::string& of) const {
    constexpr std::string_view kModel = "model ";
    if (of.starts_with(kModel)) {
      return say(Text::origin_of_model, {Shown::text("name", of.substr(kModel.size()))});
    }
    const std::optional<Text> known = find_text("origin_" + of);
    return known ? say(*known) : say(Text::cell, {Shown::text("value", of)});
  }

  void add_flips() {
    open("flips", say(Text::title_flips));
    if (decision_.flips.empty()) {
      put(say(Text::flips_no_network));
      return;
    }
    const bool none = std::none_of(decision_.flips.begin(), decision_.flips.end(),
                                   [](const Flip& flip) { return flip.at.has_value(); });
    const Value nodes = Shown::number("nodes", decision_.nodes);
    put(say_named(none ? (decision_.pays ? Text::flips_none : Text::flips_none_not)
                       : (decision_.pays ? Text::flips_pays : Text::flips_pays_not),
                  {nodes}));
    PageTable table;
    table.words = true;
    table.heads = {say(Text::head_assumption), say(Text::head_now), say(Text::head_origin),
                   say(Text::head_flip), say(Text::head_then)};
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
      const Phrase what = say(flip_words(flip).what);
      if (flip.origin == "default") defaults.push_back(what.text);
      table.rows.push_back(
          {what, cell(shown_.assumption("now", flip.name, flip.now)),
           flip.origin == "default" ? say(Text::origin_undecided) : origin(flip.origin),
           say(flip.upwards ? Text::flip_up : Text::flip_down,
               {shown_.assumption("value", flip.name, *flip.at)}),
           say_named(decision_.pays ? Text::then_pays_not : Text::then_pays)});
    }
    if (!table.rows.empty()) put(std::move(table));
    if (!defaults.empty()) {
      put(say(Text::flips_default,
              {Shown::text("names", fmt::format("{}", fmt::join(defaults, ", ")))}));
    }
    if (!rest.empty())
      put(say(Text::flips_rest, {nodes, Shown::text("searched", ranges_of(rest))}));
    if (!cut.empty()) put(say(Text::flips_cut, {Shown::text("searched", ranges_of(cut))}));
  }

  void add_command(Text why, std::string command) {
    put(PageCommand{say(why), std::move(command)});
  }

  /// The flags of the defaults that decide, to be filled in.
  std::string own_values() const {
    std::string flags;
    std::size_t listed = 0;
    for (const Flip& flip : decision_.flips) {
      if (!flip.at || ++listed > kFlips || flip.origin != "default") continue;
      flags += flip_words(flip).flag;
    }
    return flags;
  }

  void add_next() {
    open("next", say(Text::title_next));
    const bool open_answer = decision_.answer == Answer::not_proven;
    const bool noisy =
        decision_.reason == AnswerReason::noise || decision_.reason == AnswerReason::disturbed;
    if (noisy || decision_.projection.suspect_launches() > 0)
      add_command(Text::next_doctor, "rdmabench doctor");
    if (noisy || decision_.order.separate) {
      // Launches with less noise are not mixed with these.
      add_command(noisy ? Text::next_anew : Text::next_plan, options_.new_plan_command);
      add_command(Text::next_run_anew, options_.new_run_command);
    } else if (decision_.reason == AnswerReason::one_session || more_units()) {
      add_command(Text::next_plan, options_.new_plan_command);
      add_command(Text::next_spread, "REST=3h " + options_.new_run_command);
    } else if (open_answer && decision_.reason != AnswerReason::close) {
      add_command(Text::next_plan,
                  decision_.launches > 1 ? options_.plan_command : options_.new_plan_command);
      add_command(Text::next_run, options_.run_command);
    }
    const std::string own = own_values();
    if (!own.empty()) add_command(Text::next_own, options_.command + own);
    if (decision_.nodes > 1) {
      add_command(
          Text::next_check,
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
          say(test == "latency" ? Text::basis_left_out_latency : Text::basis_left_out_bandwidth,
              {as("name", name), Shown::text("sizes", sizes)}));
    }
    if (projection_.job.stragglers == Stragglers::none || samples.latency.empty()) return;
    const Curve& curve = *samples.latency[0].latency_ns;
    const std::vector<ProjectionRow>& rows = decision_.projection.rows;
    if (std::any_of(rows.begin(), rows.end(), [&](const ProjectionRow& row) {
          const double bytes = (*(row.*side)).time.message_bytes;
          return bytes > 0 && !curve.covers(bytes);
        })) {
      small.phrases.push_back(
          say(Text::basis_tail, {as("name", name), Shown::bytes("from", curve.smallest()),
                                 Shown::bytes("to", curve.largest())}));
    }
  }

  Phrase listed(const std::set<std::string>& values) const {
    constexpr std::size_t kMost = 3;
    if (values.empty()) return say(Text::source_unknown);
    const std::size_t more = values.size() - std::min(values.size(), kMost);
    const auto end = std::prev(values.end(), static_cast<std::ptrdiff_t>(more));
    const Value list = Shown::text("list", fmt::format("{}", fmt::join(values.begin(), end, ", ")));
    return more == 0 ? cell(list) : say(Text::source_more, {list, Shown::count("count", more)});
  }

  Phrase times(const Provenance& of) const {
    if (!of.first_s) return say(Text::source_unknown);
    const auto minute = [](const char* name, double seconds) {
      return Shown::text(name, utc_text(static_cast<std::time_t>(seconds), "%Y-%m-%d %H:%M"));
    };
    const Value first = minute("first", *of.first_s);
    Value last = minute("last", *of.last_s);
    if (first.shown == last.shown) return say(Text::source_at, {first});
    constexpr std::size_t kDay = std::string_view("2026-11-30 ").size();
    if (first.shown.starts_with(last.shown.substr(0, kDay))) last.shown.erase(0, kDay);
    return say(Text::source_time, {first, last});
  }

  Phrase nodes(const Provenance& of) const {
    std::set<std::string> pairs;
    for (const std::string& pair : of.pairs) {
      const std::vector<std::string_view> names = words_of(pair);
      pairs.insert(names.size() == 2
                       ? say(Text::source_pair, {Shown::text("from", std::string(names[0])),
                                                 Shown::text("to", std::string(names[1]))})
                             .text
                       : pair);
    }
    return listed(pairs);
  }

  Phrase files(const LinkSamples& samples) const {
    const std::vector<std::string> all = sources_of(samples);
    const std::set<std::string> names(all.begin(), all.end());
    const std::string folder = names.begin()->substr(0, names.begin()->rfind('/') + 1);
    return say(names.size() == 1 ? Text::source_one : Text::source_range,
               {Shown::count("count", names.size()), Shown::text("first", *names.begin()),
                Shown::text("last", names.rbegin()->starts_with(folder)
                                        ? names.rbegin()->substr(folder.size())
                                        : *names.rbegin())});
  }

  /// When, where and by what it was measured.
  PageTable sources() const {
    const LinkSamples& a = decision_.projection.a;
    const LinkSamples& b = *decision_.projection.b;
    PageTable table;
    table.words = true;
    table.heads = {say(Text::head_source), say(Text::head_name, {as("name", a_)}),
                   say(Text::head_name, {as("name", b_)})};
    table.rows = {
        {say(Text::source_when), times(a.provenance), times(b.provenance)},
        {say(Text::source_release), listed(a.provenance.releases), listed(b.provenance.releases)},
        {say(Text::source_nodes), nodes(a.provenance), nodes(b.provenance)},
        {say(Text::source_devices), listed(a.provenance.devices), listed(b.provenance.devices)},
        {say(Text::source_files), files(a), files(b)}};
    return table;
  }

  Phrase assumed(const Assumption& one) const {
    const TimeSource source = decision_.projection.source;
    Text key = find_text("assumed_" + one.name).value();
    std::string value =
        one.number ? shown_.assumption("value", one.name, *one.number).shown : one.value;
    if (one.name == "parallel") {
      value = parallel().text;
    } else if (one.name == "algorithm" || one.name == "stragglers") {
      value = say(find_text(one.name + "_" + one.value).value()).text;
    } else if (one.name == "curve") {
      value = say(source == TimeSource::latency     ? Text::curve_latency
                  : source == TimeSource::bandwidth ? Text::curve_bandwidth
                                                    : Text::curve_both)
                  .text;
    } else if (one.name == "bytes_per_s_in_node" && one.number == 0) {
      key = Text::assumed_bytes_per_s_in_node_none;
    }
    return say(key, {Shown::text("value", value), Shown::text("origin", origin(one.origin).text)});
  }

  void add_basis() {
    open("basis", say(Text::title_basis));
    put(sources());
    put(say(Text::basis_model));
    PageSmall small;
    for (const Assumption& one : decision_.projection.assumptions) {
      small.phrases.push_back(assumed(one));
    }
    add_notes(a_, decision_.projection.a, &ProjectionRow::a, small);
    add_notes(b_, *decision_.projection.b, &ProjectionRow::b, small);
    if (projection_.extrapolate) small.phrases.push_back(say(Text::basis_extrapolated));
    put(std::move(small));
  }
};

}  // namespace

bool PageParts::more_units() const {
  return decision_.reason == AnswerReason::more &&
         (decision_.units > 1 || !decision_.options.one_pair);
}

Phrase PageParts::ground() const {
  constexpr std::array kGrounds{Text::ground_proven,     Text::ground_few,   Text::ground_more,
                                Text::ground_noise,      Text::ground_close, Text::ground_disturbed,
                                Text::ground_one_session};
  const Projection& projection = decision_.projection;
  const auto count = [](const LinkSamples& of) { return of.latency.size() + of.bandwidth.size(); };
  return say_named(
      more_units() ? Text::ground_more_units : kGrounds[static_cast<std::size_t>(decision_.reason)],
      {Shown::percent("alpha", projection_.settings.alpha), Shown::number("needed", kMinLaunches),
       Shown::number("launches", decision_.launches),
       Shown::number("more", decision_.more_launches.value_or(0)),
       Shown::percent("variation", decision_.variation),
       Shown::count("suspect", projection.suspect_launches()),
       Shown::count("all", count(projection.a) + count(*projection.b))});
}

void add_reasons(const Decision& decision, Language language, Page& page) {
  Reasons(decision, language, page).add();
}

}  // namespace rdmabench::inline v1::analysis
