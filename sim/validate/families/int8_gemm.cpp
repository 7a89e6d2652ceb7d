// int8 GEMM with a scale for each row of a and of b and a bias, aiter's gemm_a8w8.
#include "sim/validate/families/eight_bit_gemm.hpp"
#include "sim/validate/families/families.hpp"

namespace rapt::sim::validate {
namespace {

// aiter measures with a's rows this much longer than k, so that not all begin at the same memory channel.
constexpr std::uint32_t padding = 128;

class Int8Gemm final : public EightBitGemm {
 public:
  std::string_view name() const override { return "int8-gemm"; }
  bool has(std::string_view kernel) const override { return kernel.starts_with("I8gemm_bf16_perTokenI8_BpreShuffle_"); }
  // One kernel has three more pointers, which the launcher does not pass.
  std::uint32_t argument_bytes(const Target& target) const override {
    return plain_name(target.kernel).ends_with("_112x256") ? 256 : 208;
  }
  PreparedLaunch prepare(const Target& target, const Shape& shape) const override;

 protected:
  Facts facts() const override { return {MatrixType::int8, 1, 128}; }
  double bytes_besides(const GemmSize& s) const override { return 4.0 * s.m + 8.0 * s.n; }
};

PreparedLaunch Int8Gemm::prepare(const Target& target, const Shape& shape) const {
  const GemmSize s = size(target, shape);
  const std::uint32_t a_row = s.k + padding;

  PreparedLaunch launch;
  begin(launch, target, s);
  auto& buffers = launch.buffers;
  buffers.push_back(DeviceBuffer::random(Number::int8, std::size_t{s.m} * a_row, 1));
  buffers.push_back(DeviceBuffer::random(Number::int8, std::size_t{s.n} * s.k, 2));
  buffers.push_back(DeviceBuffer::random(Number::f32, s.m, 3));
  buffers.push_back(DeviceBuffer::random(Number::f32, s.n, 4));
  buffers.push_back(DeviceBuffer::zeros(std::size_t{s.n} * 4));  // bias

  for (const DeviceBuffer& buffer : buffers) launch.arguments.pointer(buffer);
  launch.arguments.number(s.m).number(s.n).number(s.k);
  launch.arguments.number(a_row).number(s.k).number(s.n * 2);  // bytes of a row of a, b, c
  launch.arguments.number(s.splits);

  launch.compare = [s, a_row](const std::vector<DeviceBuffer>& memory) {
    const GemmReference reference(
        s,
        [&](std::size_t m, std::size_t k) {
          return memory[1].value(Number::int8, m * a_row + k) * memory[3].value(Number::f32, m);
        },
        [&](std::size_t n, std::size_t k) {
          return memory[2].value(Number::int8, shuffled(n, k, s.k)) * memory[4].value(Number::f32, n);
        });
    return reference.compare([&](std::size_t m, std::size_t n) { return memory[0].value(Number::bf16, m * s.n + n); },
                             bf16_truncation);
  };
  return launch;
}

}  // namespace

std::unique_ptr<Family> int8_gemm() { return std::make_unique<Int8Gemm>(); }

}  // namespace rapt::sim::validate
