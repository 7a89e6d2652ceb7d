#include "cli/tune/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <random>

namespace rapt::cli {

namespace {

// After `rounds`, an entrant leaves if the 99 % interval of its time over the best's lies above `ratio`.
struct Cut {
  int rounds;
  double ratio;
};
constexpr std::array kCuts = {Cut{3, 1.5}, Cut{8, 1.15}, Cut{16, 1.03}};
constexpr int kCutEvery = 8;     // rounds, after the last of kCuts
constexpr double kHopeless = 3;  // times the default, in the first call: an interrupted call takes twice as long
constexpr int kLeastRounds = 8;  // for a verdict
constexpr double kFine = 0.005;  // half an interval that needs no more rounds
constexpr double kCutConfidence = 0.99, kConfidence = 0.95;

class Race {
 public:
  Race(size_t count, const RaceRules& rules, const std::function<double(size_t)>& sample,
       const std::function<double()>& now)
      : rules_(rules), sample_(sample), now_(now), end_(now() + rules.seconds), random_(rules.seed) {
    result_.entrants.resize(count);
    for (size_t i = 0; i < count; ++i) live_.push_back(i);
  }

  RaceResult run() {
    if (rules_.exact) {
      if (round()) result_.ended = "one forecast of each";
    } else {
      open();
      while (result_.ended.empty() && round())
        if (!rules_.everyone_stays && is_cut_due()) cut();
    }
    finish();
    return std::move(result_);
  }

 private:
  // The first timed call of each entrant, after a call that loads its kernel.
  void open() {
    double of_default = 0;
    for (size_t i = 0; i < result_.entrants.size(); ++i) {
      if (now_() >= end_ && !rules_.everyone_stays) return;
      double seconds = 0;
      if (!take(i, &seconds) || !take(i, &seconds)) continue;
      if (i == 0) of_default = seconds;
      if (seconds > kHopeless * of_default && !rules_.everyone_stays)
        leave(i, fmt::format("{:.3g} times the default's time in its first call", seconds / of_default));
    }
  }

  bool take(size_t i, double* seconds) {
    try {
      *seconds = sample_(i);
      return true;
    } catch (const std::exception& e) {
      if (i == 0) throw;
      leave(i, e.what());
      return false;
    }
  }

  void leave(size_t i, std::string why) {
    result_.entrants[i].left = std::move(why);
    std::erase(live_, i);
  }

  // False if time, rounds or entrants end before the round is complete; it then does not count.
  bool round() {
    if (live_.size() == 1 && !rules_.everyone_stays) return end("no other kernel is left");
    if (result_.rounds == rules_.most_rounds) return end(fmt::format("{} rounds", result_.rounds));
    std::vector<size_t> order = live_;
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<std::pair<size_t, double>> times;
    for (const size_t i : order) {
      const bool needed = rules_.everyone_stays && result_.rounds == 0;
      if (now_() >= end_ && !needed) return end("the time limit");
      double seconds = 0;
      if (take(i, &seconds)) times.emplace_back(i, seconds);
    }
    for (const auto& [i, seconds] : times) result_.entrants[i].seconds.push_back(seconds);
    ++result_.rounds;
    return true;
  }

  bool end(std::string why) {
    result_.ended = std::move(why);
    return false;
  }

  bool is_cut_due() const {
    if (result_.rounds > kCuts.back().rounds) return result_.rounds % kCutEvery == 0;
    return std::ranges::any_of(kCuts, [&](const Cut& c) { return c.rounds == result_.rounds; });
  }

  // Over the rounds that both ran, which are the first ones.
  std::vector<double> ratios(size_t of, size_t to) const {
    const auto &a = result_.entrants[of].seconds, &b = result_.entrants[to].seconds;
    std::vector<double> all(std::min(a.size(), b.size()));
    for (size_t i = 0; i < all.size(); ++i) all[i] = a[i] / b[i];
    return all;
  }
  Interval ratio(size_t of, size_t to, double confidence) const { return median_interval(ratios(of, to), confidence); }

  size_t best() const {
    return *std::ranges::min_element(live_, {}, [&](size_t i) { return median(ratios(i, 0)); });
  }

  void cut() {
    double limit = 0;
    for (const Cut& c : kCuts)
      if (result_.rounds >= c.rounds) limit = c.ratio;
    const size_t fastest = best();
    for (const size_t i : std::vector(live_)) {
      if (i == 0 || i == fastest) continue;
      const Interval slower = ratio(i, fastest, kCutConfidence);
      if (slower.low > limit)
        leave(i, fmt::format("{:.2f} to {:.2f} times the fastest's time after {} rounds", slower.low, slower.high,
                             result_.rounds));
    }
    if (result_.rounds >= kCuts.back().rounds) judge();
  }

  // Ends the race if more rounds would not change the rows.
  void judge() {
    double widest = 0, highest = 0;
    for (const size_t i : live_) {
      if (i == 0) continue;
      const Interval gain = ratio(0, i, kConfidence);
      widest = std::max(widest, (gain.high - gain.low) / 2);
      highest = std::max(highest, gain.high);
    }
    if (highest <= rules_.least_gain) end("no kernel is faster by the least gain");
    else if (live_.size() == 2 && widest <= kFine) end(fmt::format("the gain is known to {:.1f} %", widest * 100));
  }

  void finish() {
    for (size_t i = 0; i < result_.entrants.size(); ++i)
      if (!result_.entrants[i].seconds.empty()) result_.entrants[i].gain = ratio(0, i, kConfidence);
    const bool alone = live_.size() == 1 && !rules_.exact;  // all others left: they are surely slower, or cannot run
    result_.decided = alone || result_.rounds >= (rules_.exact ? 1 : kLeastRounds);
    if (!result_.decided || alone) return;
    const size_t fastest = best();
    if (result_.entrants[fastest].gain.low > rules_.least_gain) result_.winner = fastest;
  }

  const RaceRules& rules_;
  const std::function<double(size_t)>& sample_;
  const std::function<double()>& now_;
  double end_;
  std::mt19937_64 random_;
  std::vector<size_t> live_;
  RaceResult result_;
};

}  // namespace

RaceResult race(size_t entrants, const RaceRules& rules, const std::function<double(size_t)>& sample,
                const std::function<double()>& now) {
  return Race(entrants, rules, sample, now).run();
}

}  // namespace rapt::cli
