#include "decision_search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/shortage.h"

namespace rdmabench::analysis {
namespace {

/// An assumption that is varied by itself.
struct Searched {
  const char* name;
  double Job::*member;
  double from;
  double to;
  enum class Scale : std::uint8_t { linear, logarithmic, whole } scale;
};

constexpr std::array<Searched, 5> kSearched{{
    {"overlap", &Job::overlap, 0, 1, Searched::Scale::linear},
    {"rails", &Job::rails, 1, 8, Searched::Scale::whole},
    {"mfu", &Job::mfu, 0.1, 0.8, Searched::Scale::logarithmic},
    {"tokens_per_gpu", &Job::tokens_per_gpu, 512, 65536, Searched::Scale::logarithmic},
    {"bucket_bytes", &Job::bucket_bytes, 1 << 20, 1 << 30, Searched::Scale::logarithmic},
}};

constexpr int kStepsOfRange = 64;  ///< over a range, before bisection

/// Whether the estimate says that A pays for this job; none where the measurements do not carry it.
std::optional<bool> pays_for(const Decision& decision, const Job& job) {
  const auto ratio = step_ratio(decision.projection, job);
  return ratio ? std::optional(*ratio > decision.limit) : std::nullopt;
}

/// A range from 0 to 1 and back.
class Scaled {
 public:
  explicit Scaled(const Searched& searched, double now)
      : searched_(searched), from_(std::min(searched.from, now)), to_(std::max(searched.to, now)) {}
  double from() const { return from_; }
  double to() const { return to_; }
  double share(double value) const {
    return searched_.scale == Searched::Scale::logarithmic
               ? std::log(value / from_) / std::log(to_ / from_)
               : (value - from_) / (to_ - from_);
  }
  double value(double share) const {
    const double value = searched_.scale == Searched::Scale::logarithmic
                             ? from_ * std::pow(to_ / from_, share)
                             : from_ + share * (to_ - from_);
    return searched_.scale == Searched::Scale::whole ? std::round(value) : value;
  }

 private:
  const Searched& searched_;
  double from_;
  double to_;
};

class FlipSearch {
 public:
  FlipSearch(const Decision& decision, const Searched& searched)
      : decision_(decision),
        searched_(searched),
        job_(decision.options.projection.job),
        range_(searched, job_.*searched.member) {
    job_.nodes = decision.nodes;
  }

  Flip find() {
    Flip flip;
    flip.name = searched_.name;
    flip.now = job_.*searched_.member;
    flip.distance = 1;
    const double now = range_.share(flip.now);
    const Reached up = go(now, 1);
    const Reached down = go(now, 0);
    flip.from = range_.value(down.carried);
    flip.to = range_.value(up.carried);
    flip.cut_short = down.cut_short || up.cut_short;
    const auto distance = [now](const Reached& reached) {
      return reached.flip ? std::abs(*reached.flip - now) : INFINITY;
    };
    const Reached& nearest = distance(up) <= distance(down) ? up : down;
    if (nearest.flip) {
      flip.at = range_.value(*nearest.flip);
      flip.upwards = &nearest == &up;
      flip.distance = distance(nearest);
    }
    return flip;
  }

 private:
  struct Reached {
    std::optional<double> flip;
    double carried = 0;  ///< the last share that the measurements carry
    bool cut_short = false;
  };

  std::optional<bool> pays(double share) {
    Job job = job_;
    job.*searched_.member = range_.value(share);
    return pays_for(decision_, job);
  }

  Reached go(double from, double end) {
    Reached reached;
    reached.carried = from;
    const int steps =
        searched_.scale == Searched::Scale::whole
            ? static_cast<int>(std::lround(std::abs(range_.value(end) - range_.value(from))))
            : kStepsOfRange;
    for (int i = 1; i <= steps; ++i) {
      const double share = from + (end - from) * i / steps;
      const auto now = pays(share);
      if (!now) {
        reached.cut_short = true;
        return reached;
      }
      if (*now != decision_.pays) {
        reached.flip =
            searched_.scale == Searched::Scale::whole ? share : bisect(reached.carried, share);
        return reached;
      }
      reached.carried = share;
    }
    return reached;
  }

  double bisect(double same, double other) {
    for (int i = 0; i < 40; ++i) {
      const double middle = (same + other) / 2;
      (pays(middle).value_or(decision_.pays) == decision_.pays ? same : other) = middle;
    }
    return other;
  }

  const Decision& decision_;
  const Searched& searched_;
  Job job_;
  Scaled range_;
};

/// The last whole number from `same` towards `other` at which it pays as at `same`.
double last_that_pays(const Decision& decision, Job job, double same, double other) {
  while (std::abs(other - same) > 1) {
    job.nodes = std::floor((same + other) / 2);
    (pays_for(decision, job).value_or(true) ? same : other) = job.nodes;
  }
  return same;
}

std::vector<PayingSpan> spans_at(const Decision& decision, double overlap) {
  const std::vector<double>& values = decision.options.projection.values;
  Job job = decision.options.projection.job;
  job.overlap = overlap;
  std::vector<PayingSpan> spans;
  bool before = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    job.nodes = values[i];
    const bool now = pays_for(decision, job).value_or(before);
    if (now && !before) {
      const double from =
          i == 0 ? values[i] : last_that_pays(decision, job, values[i], values[i - 1]);
      spans.push_back({from, values[i]});
    } else if (now) {
      spans.back().to = values[i];
    } else if (before) {
      spans.back().to = last_that_pays(decision, job, values[i - 1], values[i]);
    }
    before = now;
  }
  return spans;
}

}  // namespace

std::vector<PayingNodes> find_paying_nodes(const Decision& decision) {
  const double assumed = decision.options.projection.job.overlap;
  std::vector<PayingNodes> list;
  list.push_back({"none", 0, spans_at(decision, 0)});
  list.push_back({"assumed", assumed, spans_at(decision, assumed)});
  list.push_back({"full", 1, spans_at(decision, 1)});
  return list;
}

std::vector<Flip> find_flips(const Decision& decision) {
  const ProjectionOptions& options = decision.options.projection;
  std::vector<Flip> flips;
  if (decision.nodes <= 1) return flips;  // there is no network
  for (const Searched& searched : kSearched) {
    const bool bucket = searched.member == &Job::bucket_bytes;
    if (bucket && options.job.parallel != Parallel::data) continue;
    Flip flip = FlipSearch(decision, searched).find();
    const auto origin = options.origins.find(flip.name);
    flip.origin = origin == options.origins.end() ? "default" : origin->second;
    flips.push_back(std::move(flip));
  }
  std::stable_sort(flips.begin(), flips.end(),
                   [](const Flip& x, const Flip& y) { return x.distance < y.distance; });
  return flips;
}

}  // namespace rdmabench::analysis
