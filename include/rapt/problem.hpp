// Problems as text and as values, and their options. Included by rapt.hpp.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "rapt/error.hpp"
#include "rapt/rapt.h"

namespace rapt {
inline namespace api {

// A problem as text and as a value: rapt_problem with its own storage for varlen.
class Problem {
 public:
  static Problem parse(const std::string& text) {
    Problem p;
    const size_t sequences = static_cast<size_t>(std::count(text.begin(), text.end(), ':'));
    p.varlen_.resize(2 * sequences);
    check(rapt_problem_parse(text.c_str(), &p.c_, p.varlen_.data(), sequences));
    return p;
  }
  std::string text() const {
    const rapt_problem c = this->c();
    size_t length = 0;
    check(rapt_problem_print(&c, nullptr, 0, &length));
    std::string out(length, '\0');
    check(rapt_problem_print(&c, out.data(), length + 1, nullptr));
    return out;
  }
  rapt_problem c() const {  // points into this object
    rapt_problem c = c_;
    c.varlen = varlen_.empty() ? nullptr : varlen_.data();
    if (varlen_.empty()) c.varlen_count = 0;  // also after a move
    return c;
  }
  bool operator==(const Problem& other) const { return text() == other.text(); }

 private:
  rapt_problem c_ = RAPT_INIT(rapt_problem);
  std::vector<int64_t> varlen_;
};

}  // namespace api
}  // namespace rapt

// Equal problems have the same canonical text.
template <>
struct std::hash<rapt::api::Problem> {
  size_t operator()(const rapt::api::Problem& problem) const { return std::hash<std::string>()(problem.text()); }
};

namespace rapt {
inline namespace api {

// The options of problems: rapt_option.
inline std::vector<rapt_option> options() {
  std::vector<rapt_option> all(rapt_option_count(), RAPT_INIT(rapt_option));
  for (size_t i = 0; i < all.size(); ++i) check(rapt_option_at(i, &all[i]));
  return all;
}

// Floating-point operations of one pass (rapt_problem_flops).
inline double flops(const Problem& problem, rapt_op op) {
  const rapt_problem c = problem.c();
  double count = 0;
  check(rapt_problem_flops(&c, op, &count));
  return count;
}

}  // namespace api
}  // namespace rapt
