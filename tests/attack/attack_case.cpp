#include "attack/attack_case.hpp"

#include <cmath>
#include <limits>
#include <sstream>

#include "attack/dice.hpp"
#include "attack/extreme_values.hpp"

namespace test {

namespace {

std::string lengths_of(Dice& dice, int64_t& batch) {
  const auto length = [&] {
    return dice.one_in(6) ? dice.up_to(300) : dice.one_in(3) ? dice.up_to(5) : dice.up_to(90);
  };
  batch = 1 + dice.up_to(2);
  if (batch == 1 || !dice.one_in(5)) {
    std::ostringstream text;
    text << "sq" << std::max<int64_t>(1, length()) << " sk" << std::max<int64_t>(1, length());
    return text.str();
  }
  std::ostringstream pairs;
  int64_t most_q = 0, most_k = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t q = length(), k = b == 0 ? std::max<int64_t>(1, length()) : length();  // a mask has a key
    most_q = std::max(most_q, q), most_k = std::max(most_k, k);
    pairs << (b == 0 ? " varlen=" : ",") << q << ':' << k;
  }
  return "sq" + std::to_string(most_q) + " sk" + std::to_string(most_k) + pairs.str();
}

std::string options_of(Dice& dice) {
  std::string text;
  const auto add = [&](const std::string& option) { text += " " + option; };
  const bool bottom_right = dice.one_in(3);
  if (bottom_right) add("causal");
  else if (dice.one_in(6)) add("causal-tl");
  if (dice.one_in(4)) {
    const auto side = [&] { return std::to_string(dice.of<int64_t>({-1, 0, 0, 1, 5, 16, 40, 100})); };
    add((bottom_right || dice.one_in(2) ? "window=" : "window-tl=") + side() + "," + side());
  }
  const bool general = dice.one_in(2);
  const auto shape = [&] {
    return std::string(dice.of<const char*>({"bN", "b1"})) + dice.of<const char*>({"hN", "h1"}) +
           dice.of<const char*>({"", "", "q1"});
  };
  if (general && dice.one_in(3)) add("bias=" + shape());
  if (general && dice.one_in(4)) add("mask=" + shape());
  if (general && dice.one_in(5)) add("alibi");
  if (general && dice.one_in(5)) add(dice.of<const char*>({"softcap=5", "softcap=30", "softcap=0.5"}));
  if (dice.one_in(6)) add("sink");
  if (dice.one_in(6)) add(dice.of<const char*>({"drop=0.2", "drop=0.5", "drop=0.9"}));
  if (dice.one_in(8)) add(dice.of<const char*>({"scale=0.05", "scale=1", "scale=-0.3", "scale=0"}));
  if (dice.one_in(6)) add("det");
  return text;
}

std::string problem_of(Dice& dice, int64_t dim) {
  const int64_t heads_k = 1 + dice.up_to(1), group = dice.of<int64_t>({1, 1, 2, 3});
  int64_t batch;
  const std::string lengths = lengths_of(dice, batch);
  std::ostringstream text;
  text << 'b' << batch << " hq" << heads_k * group << " hk" << heads_k << ' ';
  const size_t varlen = lengths.find(" varlen");
  text << lengths.substr(0, varlen) << " d" << dim;
  const int64_t dim_v = dice.one_in(6) ? 8 * (1 + dice.up_to(dim / 8)) : dim;
  if (dim_v != dim) text << " dv" << dim_v;
  text << ' ' << dice.of<const char*>({"fp16", "fp16", "bf16", "bf16", "fp32"}) << options_of(dice);
  if (varlen != std::string::npos) text << lengths.substr(varlen);
  return text.str();
}

// Multiplies a tensor by a power of two. Products of two tensors stay within float32.
void resize(Dice& dice, Tensor& t, bool fp16, std::ostream& done, const char* name) {
  const int64_t power =
      fp16 ? dice.of<int64_t>({-22, -14, -8, 4, 8, 11}) : dice.of<int64_t>({-100, -70, -20, 6, 12, 40});
  for (int64_t i = 0; i < t.count(); ++i) t.set(i, std::ldexp(t.at(i), static_cast<int>(power)));
  done << ' ' << name << "*2^" << power;
}

// Gives an element, a row, or single elements of a tensor another value; no large number, if `small`.
void place(Dice& dice, Tensor& t, bool fp16, bool small, std::ostream& done, const char* name) {
  if (t.count() == 0) return;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double x = dice.of<double>({infinity, infinity, -infinity, std::nan(""), fp16 ? 0x1p-24 : 0x1p-133, 0, -0.0,
                              fp16 ? 0x1p-14 : 0x1p-126, fp16 ? 65504 : 0x1p60, fp16 ? -65504 : -0x1p60, 30, -30});
  if (name == std::string("sink") && !(x < infinity)) x = -infinity;  // what sinks of +Inf and NaN give is not defined
  if (small && std::isfinite(x) && std::fabs(x) > 1) x = 0;
  const int64_t dim = t.shape().back(), row = dice.up_to(t.count() / std::max<int64_t>(dim, 1) - 1);
  const auto how = dice.up_to(3);
  if (how == 0)
    for (int64_t i = 0; i < dim; ++i) t.set(row * dim + i, x);
  else
    for (int64_t left = how == 1 ? 1 : 1 + dice.up_to(6); left > 0; --left) t.set(dice.up_to(t.count() - 1), x);
  done << ' ' << name << (how == 0 ? "[row]=" : how == 1 ? "[1]=" : "[some]=") << x;
}

bool all_finite(const Tensor& t) {
  for (int64_t i = 0; i < t.count(); ++i)
    if (!std::isfinite(t.at(i))) return false;
  return true;
}

// Where float64's weight of a key is 0 by underflow, its value is not read; kernels count such a key as attended. So V
// and dO have Inf or NaN only without `large` logits. With softcap, an Inf in q or k meets slopes of 0
// (docs/nvidia.md).
void change_values(Dice& dice, Inputs& in, bool large, std::ostream& done) {
  const bool fp16 = in.q.dtype().code == RAPT_FLOAT && in.q.dtype().bits == 16;
  const std::pair<const char*, Tensor*> all[] = {{"q", &in.q},       {"k", &in.k},       {"v", &in.v},
                                                 {"dout", &in.dout}, {"bias", &in.bias}, {"sink", &in.sink}};
  const auto of_values = [&](const Tensor* t) { return t == &in.v || t == &in.dout; };
  const auto any = [&](int64_t most) { return all[dice.up_to(most)]; };
  if (dice.one_in(3)) {
    const auto [name, tensor] = any(3);
    if (large || of_values(tensor)) resize(dice, *tensor, fp16, done, name);
  }
  for (int64_t left = dice.up_to(2); left > 0; --left) {
    const auto [name, tensor] = any(5);
    if (!*tensor) continue;
    const Tensor before = *tensor;
    std::ostringstream what;
    place(dice, *tensor, fp16, !large && !of_values(tensor), what, name);
    const bool capped = in.problem.c.softcap > 0 && (tensor == &in.q || tensor == &in.k);
    if ((capped || (large && of_values(tensor))) && !all_finite(*tensor)) *tensor = before;
    else done << what.str();
  }
}

}  // namespace

AttackCase make_case(uint64_t number) {
  Dice dice(number);
  const std::string text =
      problem_of(dice, dice.of<int64_t>({8, 16, 32, 40, 64, 64, 72, 96, 128, 128, 128, 160, 192, 256, 512}));
  const Problem problem(text);
  const auto kind =
      dice.of<Kind>({Kind::normal, Kind::normal, Kind::normal, Kind::outliers, Kind::large, Kind::identical,
                     Kind::masked_rows, Kind::poison_unseen, Kind::poison_seen, Kind::hostile_bias});
  const auto layout = dice.of<Layout>({Layout::compact, Layout::compact, Layout::spaced, Layout::padded});
  AttackCase made{number, text, rapt::cli::input_kind_name(kind), make_inputs(problem, kind, layout, number)};
  made.inputs.dropout_seed = number;
  std::ostringstream done;
  done << (layout == Layout::spaced ? " spaced" : layout == Layout::padded ? " padded" : "");
  const bool spread = kind == Kind::large || kind == Kind::outliers || kind == Kind::hostile_bias;
  const bool poisoned = kind == Kind::poison_seen || kind == Kind::poison_unseen;
  change_values(dice, made.inputs, spread || (!poisoned && dice.one_in(2)), done);
  made.values += done.str();
  return made;
}

AttackCase make_extreme_case(uint64_t number) {
  Dice dice(number);
  const std::string text = problem_of(dice, dice.of<int64_t>({8, 16, 33, 40, 64, 64, 128, 128, 160, 256, 320}));
  const auto layout = dice.of<Layout>({Layout::compact, Layout::compact, Layout::spaced, Layout::padded});
  AttackCase made{number, text, "", make_inputs(Problem(text), Kind::normal, layout, number)};
  made.inputs.dropout_seed = number;
  std::ostringstream done;
  make_extreme(dice, made.inputs, done);
  made.values = done.str();
  return made;
}

}  // namespace test
