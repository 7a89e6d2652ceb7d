// fp8 GEMM with a scale for each 1x128 of a and each 128x128 of b, aiter's gemm_a8w8_blockscale_bpreshuffle.
#include "sim/validate/families/eight_bit_gemm.hpp"
#include "sim/validate/families/families.hpp"

namespace rapt::sim::validate {
namespace {

constexpr std::uint32_t block = 128;

class Fp8Gemm final : public EightBitGemm {
 public:
  std::string_view name() const override { return "fp8-gemm"; }
  bool has(std::string_view kernel) const override {
    return kernel.starts_with("fp8gemm_bf16_blockscale_BpreShuffle_");
  }
  std::uint32_t argument_bytes(const Target&) const override { return 256; }
  PreparedLaunch prepare(const Target& target, const Shape& shape) const override;

 protected:
  Facts facts() const override { return {MatrixType::fp8, 1, block}; }
  double bytes_besides(const GemmSize& s) const override { return 4.0 * s.k / block * (s.m + s.n / block) + 4.0 * s.n; }
};

PreparedLaunch Fp8Gemm::prepare(const Target& target, const Shape& shape) const {
  const GemmSize s = size(target, shape);
  const std::uint32_t n_blocks = ceil_div(s.n, block), k_blocks = s.k / block;
  const Number number = target.arch == Arch::gfx942 ? Number::fp8_fnuz : Number::fp8;

  PreparedLaunch launch;
  begin(launch, target, s);
  auto& buffers = launch.buffers;
  buffers.push_back(DeviceBuffer::random(number, std::size_t{s.m} * s.k, 1));
  buffers.push_back(DeviceBuffer::random(number, std::size_t{s.n} * s.k, 2));
  buffers.push_back(DeviceBuffer::random(Number::f32, std::size_t{s.m} * k_blocks, 3));       // [k / 128, m]
  buffers.push_back(DeviceBuffer::random(Number::f32, std::size_t{n_blocks} * k_blocks, 4));  // [n / 128, k / 128]
  buffers.push_back(DeviceBuffer::zeros(std::size_t{s.n} * 4));                               // bias

  for (const DeviceBuffer& buffer : buffers) launch.arguments.pointer(buffer);
  launch.arguments.number(s.m).number(s.n).number(s.k);
  launch.arguments.number(s.k).number(s.k).number(s.n * 2);  // bytes of a row of a, b, c
  launch.arguments.number(s.splits).number(s.m).number(n_blocks).number(k_blocks);

  launch.compare = [s, k_blocks, number](const std::vector<DeviceBuffer>& memory) {
    const GemmReference reference(
        s,
        [&](std::size_t m, std::size_t k) {
          return memory[1].value(number, m * s.k + k) * memory[3].value(Number::f32, k / block * s.m + m);
        },
        [&](std::size_t n, std::size_t k) {
          return memory[2].value(number, shuffled(n, k, s.k)) *
                 memory[4].value(Number::f32, n / block * k_blocks + k / block);
        });
    return reference.compare([&](std::size_t m, std::size_t n) { return memory[0].value(Number::bf16, m * s.n + n); },
                             bf16_truncation);
  };
  return launch;
}

}  // namespace

std::unique_ptr<Family> fp8_gemm() { return std::make_unique<Fp8Gemm>(); }

}  // namespace rapt::sim::validate
