#include "sim/validate/families/gemm.hpp"

#include "sim/validate/input/input_error.hpp"

#include <cmath>

namespace rapt::sim::validate {

Work GemmFamily::work(const Target& target, const Shape& shape) const {
  const GemmSize s = size(target, shape);
  const double m = s.m, n = s.n, k = s.k;
  return {2 * m * n * k, (m + n) * k * facts().bytes_per_input + m * n * bytes_per_output(shape) + bytes_besides(s),
          facts().type};
}

Shape GemmFamily::small(const Target& target, const Shape& shape) const {
  const auto [tile_m, tile_n] = tile_of(target.kernel);
  const GemmSize s = size(target, shape);
  Shape small = shape;
  small.set("M", tile_m + 5);
  small.set("N", 2 * tile_n);
  // How k is split depends on it. Otherwise some steps of the loop are enough.
  if (s.splits == 1) small.set("K", std::min(s.k, 8 * facts().k_per_step));
  return small;
}

GemmSize GemmFamily::whole_tiles(const Target& target, const Shape& shape, std::uint32_t splits) const {
  const std::uint32_t k = shape.number("K"), step = facts().k_per_step;
  const GemmSize size{shape.number("M"), shape.number("N"), k, splits, ceil_div(k / step, splits) * step};
  const auto need = [&](const char* what, std::uint32_t value, std::uint32_t multiple) {
    if (value % multiple != 0)
      throw InputError("shape '" + shape.text() + "': " + what + " must be a multiple of " + std::to_string(multiple) +
                       " for " + std::string(plain_name(target.kernel)));
  };
  need("N", size.n, tile_of(target.kernel).second);
  need("K", size.k, step);
  return size;
}

std::size_t shuffled(std::size_t row, std::size_t byte, std::size_t bytes_per_row) {
  return row / 16 * 16 * bytes_per_row + byte / 16 * 256 + row % 16 * 16 + byte % 16;
}

std::size_t shuffled_fp4(std::size_t row, std::size_t k, std::size_t k_per_row) {
  return 2 * shuffled(row, k / 2, k_per_row / 2) + k % 2;
}

std::size_t shuffled_scale(std::size_t row, std::size_t block, std::size_t blocks_per_row) {
  const std::size_t tile = row / 32 * (blocks_per_row / 8) + block / 8;
  return tile * 256 + block % 4 * 64 + row % 16 * 4 + block / 4 % 2 * 2 + row / 16 % 2;
}

GemmReference::GemmReference(const GemmSize& size, const Element& a, const Element& b) : size_(size) {
  const auto read = [&](std::vector<double>& to, std::size_t rows, const Element& element) {
    to.reserve(rows * size.k);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t k = 0; k < size.k; ++k) to.push_back(element(row, k));
  };
  read(a_, size.m, a);
  read(b_, size.n, b);
}

Comparison GemmReference::compare(const Element& output, double rounding) const {
  // Sums in float32 lose a little of each product; the matrix instructions for 8 bits more than others.
  constexpr double accumulation = 0x1p-22;
  const double roundings = size_.splits > 1 ? 2.0 * size_.splits : 1;
  Comparison comparison;
  for (std::size_t m = 0; m < size_.m; ++m)
    for (std::size_t n = 0; n < size_.n; ++n) {
      double sum = 0, parts = 0, sizes = 0;
      for (std::size_t begin = 0; begin < size_.k; begin += size_.k_per_part) {
        double partial = 0;
        for (std::size_t k = begin; k < std::min<std::size_t>(begin + size_.k_per_part, size_.k); ++k) {
          const double product = a_[m * size_.k + k] * b_[n * size_.k + k];
          partial += product;
          sizes += std::abs(product);
        }
        sum += partial;
        parts += std::abs(partial);
      }
      const double allowed = rounding * roundings * parts + accumulation * sizes;
      comparison.add(output(m, n), sum, allowed,
                     [&] { return "c[" + std::to_string(m) + ", " + std::to_string(n) + "]"; });
    }
  return comparison;
}

}  // namespace rapt::sim::validate
