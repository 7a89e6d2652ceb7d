// Finds the fastest of several ways to compute the same, and how sure that is, within a time limit. All run in rounds,
// each in a new random order, so that a drift of the clock affects all alike. A way that is surely slower leaves early.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/tune/interval.hpp"

namespace rapt::cli {

struct RaceRules {
  double seconds = 10;  // for everything, by `now`
  int most_rounds = 200;
  double least_gain = 1.02;     // the gain's interval must lie above this to replace the default
  bool everyone_stays = false;  // nobody leaves, however slow: for tables that compare
  bool exact = false;           // times do not vary (forecasts): one call of each
  uint64_t seed = 1;            // of the order
};

struct Entrant {
  std::vector<double> seconds;  // of one call, by round
  Interval gain;                // the default's time / its own: the 95 % interval of the median; {1, 1} for the default
  std::string left;             // why it left before the end, "" if it stayed
};

struct RaceResult {
  std::vector<Entrant> entrants;  // as numbered; 0 is the default
  size_t winner = 0;              // 0 unless another entrant's gain is sure
  int rounds = 0;                 // complete ones
  bool decided = false;           // the rounds were enough for a verdict
  std::string ended;              // "the gain is known to 0.4 %", "200 rounds", "the time limit"
};

// Entrant 0 is the default, which never leaves. `sample(i)` returns the seconds of one call of entrant i. If it throws
// std::exception, the entrant leaves, and the message says why. An exception of the default is passed on.
RaceResult race(size_t entrants, const RaceRules& rules, const std::function<double(size_t)>& sample,
                const std::function<double()>& now);

}  // namespace rapt::cli
