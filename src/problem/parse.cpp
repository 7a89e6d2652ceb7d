// The parser of problem texts. Strict, so that printing a parsed text gives it back: tokens in the grammar's order,
// one space between them, numbers in their shortest form.
#include <charconv>

#include "problem/error.hpp"
#include "problem/problem.hpp"
#include "problem/text.hpp"

namespace rapt {

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Problem run() {
    Problem p;
    p.batch = size("b", "b<batch>");
    p.heads_q = size("hq", "hq<heads_q>");
    p.heads_k = size("hk", "hk<heads_k>");
    p.seqlen_q = size("sq", "sq<seqlen_q>");
    p.seqlen_k = size("sk", "sk<seqlen_k>");
    p.head_dim = p.head_dim_v = size("d", "d<head_dim>");
    if (token().starts_with("dv")) {
      p.head_dim_v = size("dv", "dv<head_dim_v>");
      if (p.head_dim_v == p.head_dim) fail_previous("is the same as head_dim: leave it out");
    }
    p.dtype = dtype();
    if (flag("causal")) p.causal = RAPT_CAUSAL;
    else if (flag("causal-tl")) p.causal = RAPT_CAUSAL_TOP_LEFT;
    if (const auto value = option("window=")) p.window = window(*value);
    if (const auto value = option("bias=")) p.bias = broadcast(*value);
    if (const auto value = option("mask=")) p.mask = broadcast(*value);
    p.alibi = flag("alibi");
    if (const auto value = option("softcap=")) p.softcap = nonzero(real(*value));
    p.sink = flag("sink");
    if (const auto value = option("drop=")) p.dropout = nonzero(real(*value));
    if (const auto value = option("scale=")) p.softmax_scale = real(*value);
    if (const auto value = option("varlen=")) p.varlen = varlen(*value);
    if (const auto value = option("paged=")) {
      p.page = integer(*value);
      if (p.page < 1) fail_previous("must be at least 1");
    }
    p.deterministic = flag("det");
    if (at_ < text_.size() || trailing_space_) fail_here();
    return p;
  }

 private:
  static constexpr std::string_view kOrder =
      "b hq hk sq sk d [dv] fp16|bf16|fp32|fp64 [causal|causal-tl] [window=L,R] [bias=] [mask=] [alibi] [softcap=] "
      "[sink] [drop=] [scale=] [varlen=q:k,...] [paged=] [det]";

  std::string_view token() const { return text_.substr(at_, text_.find(' ', at_) - at_); }

  void advance() {
    previous_ = at_;
    at_ += token().size();
    if (at_ < text_.size()) trailing_space_ = ++at_ == text_.size();
  }

  [[noreturn]] void fail(size_t column, std::string_view what) const {
    throw Error(RAPT_INVALID_ARGUMENT, cat("problem text, column ", static_cast<uint64_t>(column + 1), ": ", what));
  }
  [[noreturn]] void fail_previous(std::string_view what) const {
    fail(previous_, cat("'", text_.substr(previous_, text_.find(' ', previous_) - previous_), "' ", what));
  }
  [[noreturn]] void fail_here() const {
    const std::string_view unexpected = token();
    if (unexpected.empty()) fail(at_, cat("a token is missing or a space is doubled; expected ", kOrder));
    fail(at_, cat("'", unexpected, "' is unknown, repeated or out of order; expected ", kOrder));
  }

  int64_t integer(std::string_view digits) const {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range) fail(column_of(digits), cat("'", digits, "' exceeds 64 bits"));
    if (error != std::errc() || end != digits.data() + digits.size() || cat(value) != digits)
      fail(column_of(digits), cat("'", digits, "' is not an integer in its shortest form"));
    return value;
  }
  double real(std::string_view digits) const {
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      fail(column_of(digits), cat("'", digits, "' is not a number"));
    if (number_text(value) != digits)
      fail(column_of(digits), cat("'", digits, "' must be written in its shortest form, ", number_text(value)));
    return value;
  }
  double nonzero(double value) const {
    if (value == 0) fail_previous("is the default: leave it out");
    return value;
  }
  size_t column_of(std::string_view piece) const { return static_cast<size_t>(piece.data() - text_.data()); }

  int64_t size(std::string_view prefix, std::string_view form) {
    const std::string_view t = token();
    if (!t.starts_with(prefix)) fail(at_, cat("expected ", form, ", found '", t, "'"));
    advance();
    return integer(t.substr(prefix.size()));
  }
  DType dtype() {
    for (DType d : {DType::fp16, DType::bf16, DType::fp32, DType::fp64})
      if (flag(dtype_name(d))) return d;
    fail(at_, cat("expected fp16, bf16, fp32 or fp64, found '", token(), "'"));
  }
  bool flag(std::string_view name) {
    if (at_ == text_.size() || token() != name) return false;
    advance();
    return true;
  }
  std::optional<std::string_view> option(std::string_view prefix) {
    const std::string_view t = token();
    if (!t.starts_with(prefix)) return std::nullopt;
    advance();
    return t.substr(prefix.size());
  }
  Window window(std::string_view value) const {
    const size_t comma = value.find(',');
    if (comma == std::string_view::npos) fail_previous("must be window=left,right");
    return {integer(value.substr(0, comma)), integer(value.substr(comma + 1))};
  }
  int32_t broadcast(std::string_view value) const {
    for (int32_t bits = 0; bits < 8; ++bits) {
      const std::string form = cat("b", bits & RAPT_PER_BATCH ? "N" : "1", "h", bits & RAPT_PER_HEAD ? "N" : "1",
                                   bits & RAPT_PER_QUERY ? "" : "q1");
      if (value == form) return bits;
    }
    fail_previous("must be b1h1, b1hN, bNh1 or bNhN, with q1 at its end where one row serves all queries");
  }
  std::vector<std::pair<int64_t, int64_t>> varlen(std::string_view value) const {
    std::vector<std::pair<int64_t, int64_t>> lengths;
    for (size_t at = 0; at <= value.size();) {
      const std::string_view pair = value.substr(at, value.find(',', at) - at);
      const size_t colon = pair.find(':');
      if (colon == std::string_view::npos) fail(column_of(value) + at, "expected seqlen_q:seqlen_k");
      lengths.emplace_back(integer(pair.substr(0, colon)), integer(pair.substr(colon + 1)));
      at += pair.size() + 1;
    }
    return lengths;
  }

  std::string_view text_;
  size_t at_ = 0, previous_ = 0;
  bool trailing_space_ = false;
};

}  // namespace

Problem Problem::parse(std::string_view text) {
  Problem problem = Parser(text).run();
  problem.validate();
  return problem;
}

}  // namespace rapt
