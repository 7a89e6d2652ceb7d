// Kinds of options: rows of the table that differ only in their fields.
#pragma once

#include <algorithm>

#include "base/text.hpp"
#include "problem/options.hpp"

namespace rapt::option_kinds {

// A text as a template argument.
template <size_t N>
struct Text {
  char characters[N];
  constexpr Text(const char (&text)[N]) { std::copy_n(text, N, characters); }
  constexpr std::string_view view() const { return {characters, N - 1}; }
  // "drop=" of "drop=<p>".
  constexpr std::string_view prefix() const { return view().substr(0, view().find('=') + 1); }
};

template <Text form>
inline constexpr Text kForm = form;

// A row with the fields that every kind sets; kinds and options fill in the rest.
constexpr Option row(std::string_view name, std::string_view form, std::string_view help, KernelSupport gpu) {
  Option o = {};
  o.name = name;
  o.form = form;
  o.help = help;
  o.default_value = "";
  o.gpu = gpu;
  o.check = [](const Problem&, Violations&) {};
  return o;
}

template <Text form, auto field, auto c_field>
constexpr Option flag(std::string_view name, std::string_view help, KernelSupport gpu) {
  Option o = row(name, kForm<form>.view(), help, gpu);
  o.given = [](const Problem& p) { return p.*field; };
  o.print = [](const Problem&) { return std::string(kForm<form>.view()); };
  o.parse = [](Problem& p, const Token& t) {
    if (t.text != kForm<form>.view()) return false;
    return p.*field = true;
  };
  o.to_c = [](const Problem& p, rapt_problem& c) { c.*c_field = p.*field; };
  o.from_c = [](Problem& p, const rapt_problem& c) { p.*field = c.*c_field != 0; };
  return o;
}

// A number whose default is the value in Problem(). rapt_problem has 0 for it, which callers of older headers leave
// there.
template <Text form, auto field, auto c_field>
constexpr Option number(std::string_view name, std::string_view help, KernelSupport gpu) {
  using Value = std::remove_reference_t<decltype(Problem().*field)>;
  Option o = row(name, kForm<form>.view(), help, gpu);
  o.default_value = "0";
  o.given = [](const Problem& p) { return p.*field != Problem().*field; };
  o.print = [](const Problem& p) { return cat(kForm<form>.prefix(), p.*field); };
  o.parse = [](Problem& p, const Token& t) {
    const auto value = t.after(kForm<form>.prefix());
    if (!value) return false;
    if constexpr (std::is_floating_point_v<Value>) p.*field = t.real(*value);
    else p.*field = t.integer(*value);
    if (p.*field == Problem().*field) t.fail("is the default: leave it out");
    return true;
  };
  o.to_c = [](const Problem& p, rapt_problem& c) { c.*c_field = p.*field; };
  o.from_c = [](Problem& p, const rapt_problem& c) { p.*field = c.*c_field != 0 ? c.*c_field : Problem().*field; };
  return o;
}

// The dimensions in which a bias or mask has its full size.
template <Text form, auto field, auto c_given, auto c_field>
constexpr Option scores(std::string_view name, std::string_view help) {
  Option o = row(name, kForm<form>.view(), help, KernelSupport::scores);
  o.given = [](const Problem& p) { return (p.*field).has_value(); };
  o.print = [](const Problem& p) { return cat(kForm<form>.prefix(), broadcast_text(*(p.*field))); };
  o.parse = [](Problem& p, const Token& t) {
    const auto value = t.after(kForm<form>.prefix());
    if (!value) return false;
    for (int32_t bits = 0; bits <= kAllBroadcastBits; ++bits)
      if (*value == broadcast_text(bits)) p.*field = bits;
    if (!(p.*field)) t.fail("must be b1h1, b1hN, bNh1 or bNhN, with q1 at its end where one row serves all queries");
    return true;
  };
  o.to_c = [](const Problem& p, rapt_problem& c) {
    c.*c_given = (p.*field).has_value();
    c.*c_field = (p.*field).value_or(0);
  };
  o.from_c = [](Problem& p, const rapt_problem& c) {
    if (c.*c_given) p.*field = c.*c_field & kAllBroadcastBits;
  };
  return o;
}

}  // namespace rapt::option_kinds
