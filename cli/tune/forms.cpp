#include "cli/tune/forms.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace rapt::cli {

namespace {

constexpr int64_t kFewHeads = 2, kFew = 2, kShort = 768;  // sequences; rows of queries and of keys
constexpr int64_t kPage = 256;

// Keeps the place relative to the tiles' edges, by removing a multiple of 256.
int64_t shortened(int64_t rows) { return rows <= kShort ? rows : kShort - 256 + rows % 256; }

Problem problem_of(const rapt_problem& p) {
  size_t length = 0;
  check(rapt_problem_print(&p, nullptr, 0, &length));
  std::string text(length, '\0');
  check(rapt_problem_print(&p, text.data(), length + 1, nullptr));
  return Problem::parse(text);
}

// The lengths of rapt_problem::varlen, which its owner must keep.
class Lengths {
 public:
  // One sequence has the longest length; the remaining sequences share the rest.
  void fill(rapt_problem& p) {
    int64_t q = p.total_q, k = p.total_k;
    for (int64_t left = p.batch; left > 0; --left) {
      const bool longest = left == p.batch;
      add(longest ? p.seqlen_q : std::min(p.seqlen_q, q / left), longest ? p.seqlen_k : std::min(p.seqlen_k, k / left));
      q -= pairs_[pairs_.size() - 2];
      k -= pairs_.back();
    }
    set(p);
  }
  void shorten(rapt_problem& p) {
    p.batch = std::min(p.batch, kFew);
    p.seqlen_q = p.seqlen_k = 0;
    for (int64_t b = 0; b < p.batch; ++b) {
      add(shortened(p.varlen[2 * b]), shortened(p.varlen[2 * b + 1]));
      p.seqlen_q = std::max(p.seqlen_q, pairs_[pairs_.size() - 2]);
      p.seqlen_k = std::max(p.seqlen_k, pairs_.back());
    }
    set(p);
  }

 private:
  void add(int64_t q, int64_t k) { pairs_.insert(pairs_.end(), {q, k}); }
  void set(rapt_problem& p) const {
    p.varlen = pairs_.data();
    p.varlen_count = p.batch;
  }
  std::vector<int64_t> pairs_;
};

}  // namespace

Problem made_form(const Problem& problem) {
  rapt_problem p = problem.c();
  p.alignment = p.row_stride = p.backwards = 0;
  if (p.has_cache && p.page == 0) p.page = kPage;
  p.whole_cache = p.has_leftpad = p.has_batch_idx = p.rotary_interleaved = 0;
  p.seqlen_new = p.rotary_dim = 0;
  Lengths lengths;
  if (p.device_lengths && !p.has_cache) lengths.fill(p);
  p.device_lengths = 0;
  p.total_q = p.total_k = 0;
  return problem_of(p);
}

Problem small_form(const Problem& made) {
  rapt_problem p = made.c();
  const int64_t group = p.heads_q / p.heads_k;
  p.heads_k = std::min(p.heads_k, std::max<int64_t>(kFewHeads / group, 1));
  p.heads_q = p.heads_k * group;
  Lengths lengths;
  if (p.varlen_count != 0 && !p.has_cache) {
    lengths.shorten(p);
  } else if (p.varlen_count == 0) {
    p.batch = std::min(p.batch, kFew);
    if (!p.has_cache) {
      const bool square = p.seqlen_q == p.seqlen_k;
      p.seqlen_k = shortened(p.seqlen_k);
      p.seqlen_q = square ? p.seqlen_k : shortened(p.seqlen_q);
    }
  }
  return problem_of(p);
}

}  // namespace rapt::cli
