// fp4 GEMM with a power of two as the scale of each 32 elements of k, aiter's gemm_a4w4.
#include "sim/validate/input/input_error.hpp"
#include "sim/validate/families/families.hpp"
#include "sim/validate/families/gemm.hpp"

namespace rapt::sim::validate {
namespace {

constexpr std::uint32_t block = 32;

constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t to) { return ceil_div(value, to) * to; }

class Fp4Gemm final : public GemmFamily {
 public:
  std::string_view name() const override { return "fp4-gemm"; }
  bool has(std::string_view kernel) const override { return kernel.starts_with("f4gemm_bf16_per1x32Fp4_BpreShuffle_"); }
  std::uint32_t argument_bytes(const Target&) const override { return 384; }
  PreparedLaunch prepare(const Target& target, const Shape& shape) const override;

 protected:
  Facts facts() const override { return {MatrixType::fp4, 0.5, 256}; }
  GemmSize size(const Target& target, const Shape& shape) const override;
  double bytes_per_output(const Shape&) const override { return 2; }
  double bytes_besides(const GemmSize& s) const override { return (1.0 * s.m + s.n) * s.k / block; }
};

// splitK is the binary logarithm here.
GemmSize Fp4Gemm::size(const Target& target, const Shape& shape) const {
  if (shape.word("splitK") != "0") throw InputError("shape '" + shape.text() + "': splitK must be 0");
  return whole_tiles(target, shape, 1);
}

PreparedLaunch Fp4Gemm::prepare(const Target& target, const Shape& shape) const {
  const GemmSize s = size(target, shape);
  const auto [tile_m, tile_n] = tile_of(target.kernel);
  // Scales are padded to 256 rows and 8 blocks.
  const std::uint32_t columns = round_up(s.k / block, 8), m_padded = round_up(s.m, 256), n_padded = round_up(s.n, 256);

  PreparedLaunch launch;
  launch.groups = {ceil_div(s.n, tile_n), ceil_div(s.m, tile_m), 1};
  auto& buffers = launch.buffers;
  buffers.push_back(DeviceBuffer::unwritten(std::size_t{m_padded} * s.n * 2));
  buffers.push_back(DeviceBuffer::random(Number::fp4, std::size_t{s.m} * s.k, 1));
  buffers.push_back(DeviceBuffer::random(Number::fp4, std::size_t{s.n} * s.k, 2));
  buffers.push_back(DeviceBuffer::random(Number::e8m0, std::size_t{m_padded} * columns, 3));
  buffers.push_back(DeviceBuffer::random(Number::e8m0, std::size_t{n_padded} * columns, 4));

  launch.arguments.pointer(buffers[0]).null().pointer(buffers[1]).pointer(buffers[2]);  // d, c, a, b
  launch.arguments.number(1.0F).number(0.0F);                                           // alpha, beta
  launch.arguments.number(0U).number(0U).number(s.n).number(0U);   // strides of d and c, in elements; d's is not read
  launch.arguments.number(s.k).number(0U).number(s.k).number(0U);  // of a and b
  launch.arguments.number(s.m).number(s.n).number(s.k).pointer(buffers[3]).pointer(buffers[4]);
  launch.arguments.number(columns).number(0U).number(columns).number(0U);  // strides of the scales
  launch.arguments.number(0U);                                             // log2 of the parts of k

  launch.compare = [s, columns](const std::vector<DeviceBuffer>& memory) {
    const GemmReference reference(
        s,
        [&](std::size_t m, std::size_t k) {
          return memory[1].value(Number::fp4, m * s.k + k) *
                 memory[3].value(Number::e8m0, shuffled_scale(m, k / block, columns));
        },
        [&](std::size_t n, std::size_t k) {
          return memory[2].value(Number::fp4, shuffled_fp4(n, k, s.k)) *
                 memory[4].value(Number::e8m0, shuffled_scale(n, k / block, columns));
        });
    return reference.compare([&](std::size_t m, std::size_t n) { return memory[0].value(Number::bf16, m * s.n + n); },
                             bf16_rounding);
  };
  return launch;
}

}  // namespace

std::unique_ptr<Family> fp4_gemm() { return std::make_unique<Fp4Gemm>(); }

}  // namespace rapt::sim::validate
