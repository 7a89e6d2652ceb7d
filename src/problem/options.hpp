// The table of a problem's options. Parsing, printing (and so comparing and hashing rapt::Problem), checking,
// rapt_problem, the choice of GPU kernels and the command line all walk it. A new option is a row here, a field in
// Problem and rapt.h, and the code that computes it.
#pragma once

#include <span>

#include "base/error.hpp"
#include "problem/problem.hpp"

namespace rapt {

// A token of a problem's text, to be read as an option.
struct Token {
  std::string_view text;   // the token
  std::string_view whole;  // the text that it points into, for columns in errors

  // The text after the prefix; nullopt if the token has another prefix.
  std::optional<std::string_view> after(std::string_view prefix) const;
  int64_t integer(std::string_view digits) const;  // must be in shortest form
  double real(std::string_view digits) const;
  [[noreturn]] void fail(std::string_view what) const;
  [[noreturn]] void fail_at(std::string_view piece, std::string_view what) const;
};

// The GPU kernels that compute an option: every kernel (for a cache: every split kernel), kernels whose `features` are
// scores or general, or general kernels only. General kernels compute dropout, and so do kernels of some operations
// (kernels/operations.hpp). The math and cpu backends compute every option.
enum class KernelSupport : uint8_t { every, scores, general, dropout };

struct Option {
  std::string_view name;  // of the field in rapt_problem, and of the command line's option
  std::string_view form;  // in a text: "drop=<p>"
  std::string_view help;
  std::string_view default_value;  // the value of a number that a text omits; "" if there is none
  KernelSupport gpu;
  bool needs_cache = false;  // an error in a problem without a KV cache

  bool (*given)(const Problem&);               // not its default
  std::string (*print)(const Problem&);        // its token; called only if given
  bool (*parse)(Problem&, const Token&);       // whether the token is this option's
  void (*check)(const Problem&, Violations&);  // its range
  void (*to_c)(const Problem&, rapt_problem&);
  void (*from_c)(Problem&, const rapt_problem&);
  // For options that are numbers; null for options that tensors determine, which validate() reads.
  void (*from_call)(Problem&, const rapt_attention&);
};

std::span<const Option> options();  // in the order in which they are printed

// What every call does with the table, compiled row by row so that a null entry costs nothing.
void read_options(const rapt_attention& from, Problem& to);  // calls every from_call
void check_options(const Problem& problem, Violations& bad);
KernelSupport support_for(const Problem& problem);  // which kernels compute every given option but dropout

inline constexpr int32_t kAllBroadcastBits = RAPT_PER_BATCH | RAPT_PER_HEAD | RAPT_PER_QUERY;
std::string broadcast_text(int32_t bits);  // "b1hNq1"

}  // namespace rapt
