// bf16 GEMM, aiter's gemm_a16w16: both operands row-major along k, the result bf16 or f32.
#include "sim/validate/input/input_error.hpp"
#include "sim/validate/families/families.hpp"
#include "sim/validate/families/gemm.hpp"

namespace rapt::sim::validate {
namespace {

class Bf16Gemm final : public GemmFamily {
 public:
  std::string_view name() const override { return "bf16-gemm"; }
  bool has(std::string_view kernel) const override {
    return (kernel.starts_with("bf16gemm_bf16_tn_") || kernel.starts_with("bf16gemm_fp32bf16_tn_")) &&
           kernel.find("shuffle") == std::string_view::npos;
  }
  // The pf3 kernels are older than the semaphores.
  std::uint32_t argument_bytes(const Target& target) const override {
    return target.kernel.find("_pf3_") != std::string::npos ? 336 : 352;
  }
  PreparedLaunch prepare(const Target& target, const Shape& shape) const override;

 protected:
  Facts facts() const override { return {MatrixType::bf16, 2, 64}; }
  GemmSize size(const Target& target, const Shape& shape) const override;
  double bytes_per_output(const Shape& shape) const override { return float_output(shape) ? 4 : 2; }
  double bytes_besides(const GemmSize&) const override { return 0; }

 private:
  static bool float_output(const Shape& shape);
};

bool Bf16Gemm::float_output(const Shape& shape) {
  const std::string& out = shape.word("out");
  if (out != "bfloat16" && out != "float32")
    throw InputError("shape '" + shape.text() + "': out must be bfloat16 or float32");
  return out == "float32";
}

GemmSize Bf16Gemm::size(const Target& target, const Shape& shape) const {
  for (const char* option : {"bias", "pre"})
    if (shape.word(option) != "False") throw InputError("shape '" + shape.text() + "': " + option + " must be False");
  // As the launcher limits it; only kernels that clean up behind themselves can split k.
  const std::uint32_t splits = std::min({shape.number("splitK"), 16U, std::max(shape.number("K") / 64, 1U)});
  const bool can_split = target.kernel.find("_splitk_clean") != std::string::npos;
  if (can_split != (splits > 1))
    throw InputError("shape '" + shape.text() + "': splitK must be " + (can_split ? "at least 2" : "1") + " for " +
                     std::string(plain_name(target.kernel)));
  return whole_tiles(target, shape, splits);
}

PreparedLaunch Bf16Gemm::prepare(const Target& target, const Shape& shape) const {
  const GemmSize s = size(target, shape);
  const bool float_out = float_output(shape);
  const auto [tile_m, tile_n] = tile_of(target.kernel);
  const std::uint32_t output_row = s.n * (float_out ? 4 : 2), input_row = s.k * 2;

  PreparedLaunch launch;
  launch.groups = {s.n / tile_n, ceil_div(s.m, tile_m), s.splits};
  constexpr std::uint32_t semaphores = 16 * 64;
  if (s.splits > 1 && launch.groups[0] * launch.groups[1] > semaphores)
    throw InputError("shape '" + shape.text() + "' needs more than 1024 semaphores");
  auto& buffers = launch.buffers;
  buffers.push_back(DeviceBuffer::unwritten(std::size_t{s.m} * output_row));
  buffers.push_back(DeviceBuffer::random(Number::bf16, std::size_t{s.m} * s.k, 1));
  buffers.push_back(DeviceBuffer::random(Number::bf16, std::size_t{s.n} * s.k, 2));
  buffers.push_back(DeviceBuffer::zeros(semaphores * 4));

  launch.arguments.pointer(buffers[0]).null().pointer(buffers[1]).pointer(buffers[2]);  // d, c, a, b
  launch.arguments.number(1.0F).number(0.0F);                                           // alpha, beta
  launch.arguments.number(output_row).number(0U).number(output_row).number(0U);         // strides of d and c
  launch.arguments.number(input_row).number(0U).number(input_row).number(0U);           // of a and b
  launch.arguments.number(s.m).number(s.n).number(s.k).number(s.splits).number(float_out ? 0U : 1U);
  launch.arguments.null().number(0U);  // bias, and whether there is one
  if (s.splits > 1) launch.arguments.pointer(buffers[3]);
  else launch.arguments.null();

  launch.compare = [s, float_out](const std::vector<DeviceBuffer>& memory) {
    const GemmReference reference(
        s, [&](std::size_t m, std::size_t k) { return memory[1].value(Number::bf16, m * s.k + k); },
        [&](std::size_t n, std::size_t k) { return memory[2].value(Number::bf16, n * s.k + k); });
    const Number out = float_out ? Number::f32 : Number::bf16;
    return reference.compare([&](std::size_t m, std::size_t n) { return memory[0].value(out, m * s.n + n); },
                             float_out ? f32_rounding : bf16_rounding);
  };
  return launch;
}

}  // namespace

std::unique_ptr<Family> bf16_gemm() { return std::make_unique<Bf16Gemm>(); }

}  // namespace rapt::sim::validate
