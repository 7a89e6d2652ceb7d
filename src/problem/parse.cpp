// The parser of problem texts. It is strict, so that printing a parsed text in canonical order gives it back: one space
// between tokens, numbers in shortest form, no defaults. Sizes and type come first, in order; each option at most once,
// in any order.
#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.hpp"
#include "problem/options.hpp"

namespace rapt {

void Token::fail_at(std::string_view piece, std::string_view what) const {
  const auto column = static_cast<uint64_t>(piece.data() - whole.data() + 1);
  throw Error(RAPT_INVALID_ARGUMENT, cat("problem text, column ", column, ": ", what));
}

void Token::fail(std::string_view what) const { fail_at(text, cat("'", text, "' ", what)); }

std::optional<std::string_view> Token::after(std::string_view prefix) const {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

int64_t Token::integer(std::string_view digits) const {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) fail_at(digits, cat("'", digits, "' exceeds 64 bits"));
  if (error != std::errc() || end != digits.data() + digits.size() || cat(value) != digits)
    fail_at(digits, cat("'", digits, "' is not an integer in its shortest form"));
  return value;
}

double Token::real(std::string_view digits) const {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    fail_at(digits, cat("'", digits, "' is not a number"));
  if (number_text(value) != digits)
    fail_at(digits, cat("'", digits, "' must be written in its shortest form, ", number_text(value)));
  return value;
}

namespace {

std::string grammar() {
  std::string forms = "b hq hk sq sk d [dv] fp16|bf16|fp32|fp64";
  for (const Option& option : options()) forms += cat(" [", option.form, "]");
  return forms;
}

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
    if (const Token t = token(); t.text.starts_with("dv")) {
      p.head_dim_v = size("dv", "dv<head_dim_v>");
      if (p.head_dim_v == p.head_dim) t.fail("is the same as head_dim: leave it out");
    }
    p.dtype = dtype();
    std::vector<const Option*> seen;
    while (at_ < text_.size() || trailing_space_) {
      const Option& option = next_option(p);
      if (std::find(seen.begin(), seen.end(), &option) != seen.end()) token().fail("is given twice");
      seen.push_back(&option);
      advance();
    }
    return p;
  }

 private:
  Token token() const { return {text_.substr(at_, text_.find(' ', at_) - at_), text_}; }

  void advance() {
    at_ += token().text.size();
    if (at_ < text_.size()) trailing_space_ = ++at_ == text_.size();
  }

  // Reads the next token, an option, into p.
  const Option& next_option(Problem& p) const {
    const Token t = token();
    for (const Option& option : options())
      if (option.parse(p, t)) return option;
    if (t.text.empty()) t.fail_at(t.text, cat("a token is missing or a space is doubled; expected ", grammar()));
    t.fail(cat("is unknown; expected ", grammar()));
  }

  int64_t size(std::string_view prefix, std::string_view form) {
    const Token t = token();
    const auto digits = t.after(prefix);
    if (!digits) t.fail_at(t.text, cat("expected ", form, ", found '", t.text, "'"));
    advance();
    return t.integer(*digits);
  }

  DType dtype() {
    const Token t = token();
    for (DType d : {DType::fp16, DType::bf16, DType::fp32, DType::fp64})
      if (t.text == dtype_name(d)) {
        advance();
        return d;
      }
    t.fail_at(t.text, cat("expected fp16, bf16, fp32 or fp64, found '", t.text, "'"));
  }

  std::string_view text_;
  size_t at_ = 0;
  bool trailing_space_ = false;
};

}  // namespace

Problem Problem::parse(std::string_view text) {
  Problem problem = Parser(text).run();
  problem.validate();
  return problem;
}

}  // namespace rapt
