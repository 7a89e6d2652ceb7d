#include "attack/extreme_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cli/inputs/dtype.hpp"

namespace test {

namespace {

struct Exponents {
  int64_t least, most;      // of the type's numbers
  int64_t shrink, enlarge;  // by which standard normal numbers stay in the type
};

Exponents exponents_of(rapt_dtype dtype) {
  if (dtype.code == RAPT_BFLOAT) return {-133, 127, -133, 125};
  return dtype.bits == 16 ? Exponents{-24, 15, -24, 11} : Exponents{-149, 127, -145, 125};
}

double number_of(Dice& dice, int64_t least, int64_t most) {
  const double size =
      std::ldexp(1 + static_cast<double>(dice.up_to(255)) / 256, static_cast<int>(dice.between(least, most)));
  return dice.one_in(2) ? -size : size;
}

double special(Dice& dice, rapt_dtype dtype) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Exponents e = exponents_of(dtype);
  const double least = std::ldexp(1, static_cast<int>(e.least)), most = rapt::cli::largest_finite(dtype);
  switch (dice.up_to(3)) {
    case 0: return dice.of<double>({infinity, -infinity, std::nan("")});
    case 1: return dice.of<double>({most, -most, least, -least, 0, -0.0});
    case 2: return dice.of<double>({dtype.bits == 16 && dtype.code == RAPT_FLOAT ? 0x1p-14 : 0x1p-126, 3 * least});
    default: return number_of(dice, e.least, e.most);
  }
}

void place(Dice& dice, Tensor& t, std::ostream& done) {
  const int64_t dim = t.shape().back();
  for (int64_t left = 1 + dice.up_to(2); left > 0; --left) {
    const double x = special(dice, t.dtype());
    const int64_t at = dice.up_to(t.count() - 1);
    const bool row = dice.one_in(3);
    for (int64_t i = row ? at - at % dim : at; i <= (row ? at - at % dim + dim - 1 : at); ++i) t.set(i, x);
    done << (row ? "[row]=" : "[1]=") << x;
  }
}

void change(Dice& dice, Tensor& t, std::ostream& done) {
  const Exponents e = exponents_of(t.dtype());
  switch (dice.up_to(3)) {
    case 0: return place(dice, t, done);
    case 1: {
      const int64_t power = dice.between(e.shrink, e.enlarge);
      for (int64_t i = 0; i < t.count(); ++i) t.set(i, std::ldexp(t.at(i), static_cast<int>(power)));
      done << "*2^" << power;
      return;
    }
    case 2: {
      const int64_t one = dice.between(e.least, e.most), other = dice.between(e.least, e.most);
      const auto [from, to] = std::minmax(one, other);
      for (int64_t i = 0; i < t.count(); ++i) t.set(i, number_of(dice, from, to));
      done << "=2^" << from << "..2^" << to;
      return;
    }
    default: {
      const double x = number_of(dice, e.least, e.most);
      for (int64_t i = 0; i < t.count(); ++i) t.set(i, x);
      done << '=' << x;
    }
  }
}

// Sums over the rows of a tensor of [..., heads, dim], without what is not finite.
struct Sizes {
  double largest = 0;  // element
  double row = 0;      // largest sum of a row's magnitudes
  double column = 0;   // sum over all rows of their largest elements
};

Sizes sizes_of(const Tensor& t) {
  const std::vector<double> values = t.values();
  const auto dim = static_cast<size_t>(t.shape().back());
  Sizes s;
  for (size_t at = 0; at + dim <= values.size() && dim > 0; at += dim) {
    double sum = 0, most = 0;
    for (size_t x = at; x < at + dim; ++x)
      if (std::isfinite(values[x])) sum += std::fabs(values[x]), most = std::max(most, std::fabs(values[x]));
    s.largest = std::max(s.largest, most), s.row = std::max(s.row, sum), s.column += most;
  }
  return s;
}

}  // namespace

void make_extreme(Dice& dice, Inputs& in, std::ostream& done) {
  const std::pair<const char*, Tensor*> all[] = {{"q", &in.q},       {"k", &in.k},       {"v", &in.v},
                                                 {"dout", &in.dout}, {"bias", &in.bias}, {"sink", &in.sink}};
  for (const auto& [name, tensor] : all) {
    const bool changes = dice.up_to(9) < (tensor == &in.bias || tensor == &in.sink ? 3 : 5);
    if (!changes || tensor->count() == 0 || !*tensor) continue;
    done << ' ' << name;
    change(dice, *tensor, done);
  }
}

bool exceeds_float32(const Inputs& in) {
  constexpr double kMost = 1.6e38;
  const Sizes q = sizes_of(in.q), k = sizes_of(in.k), v = sizes_of(in.v), d = sizes_of(in.dout);
  const double keep = 1 / (1 - in.problem.c.dropout);
  const double product = std::min(q.row * k.largest, q.largest * k.row);
  const double gradient = 2 * keep * std::min(d.row * v.largest, d.largest * v.row);
  const double sums[] = {product,
                         gradient,
                         gradient * k.column,
                         gradient * q.column,
                         keep * v.column,
                         keep * d.column,
                         gradient * static_cast<double>(in.q.count() / std::max<int64_t>(in.q.shape().back(), 1))};
  return std::ranges::any_of(sums, [](double x) { return !(x <= kMost); });
}

}  // namespace test
