// Attention backward in bf16, aiter's fmha_v3_bwd with head_dim 128 whose dq is added up in float32 (a32), without
// padding and packed sequences. It is the second of three launches: before it, delta; after it, dq is rounded.
#include "sim/validate/families/attention_backward.hpp"
#include "sim/validate/families/families.hpp"
#include "sim/validate/families/gemm.hpp"
#include "sim/validate/input/input_error.hpp"

#include <cmath>

namespace rapt::sim::validate {
namespace {

constexpr std::uint32_t dim = 128, keys_of_group = 192;

bool is_causal(std::string_view kernel) { return kernel.find("_causal") != std::string_view::npos; }

AttentionSize size_of(const Target& target, const Shape& shape) {
  const auto need = [&](const char* word, const std::string& value) {
    if (shape.word(word) != value)
      throw InputError("shape '" + shape.text() + "': " + word + " must be " + value + " for " +
                       std::string(plain_name(target.kernel)));
  };
  const bool causal = is_causal(plain_name(target.kernel));
  need("head_dim", std::to_string(dim));
  need("causal", causal ? "1" : "0");
  need("heads_k", shape.word("heads"));
  return {
      shape.number("batch"), shape.number("heads"), shape.number("heads_k"), shape.number("seqlen"), dim, dim, causal};
}

class FmhaBackward final : public Family {
 public:
  std::string_view name() const override { return "fmha-bwd"; }
  bool has(std::string_view kernel) const override {
    for (const char* rounding : {"rtne", "rtna", "rtz"})
      for (const char* causal : {"", "_causal"})
        if (kernel == std::string("fmha_bwd_hd128_bf16") + causal + "_a32_" + rounding) return true;
    return false;
  }
  std::uint32_t argument_bytes(const Target&) const override { return 704; }
  Work work(const Target& target, const Shape& shape) const override {
    const AttentionSize s = size_of(target, shape);
    return {2.5 * s.flops(), static_cast<double>(s.tokens()) * s.heads * (dim * 16.0 + 8), MatrixType::bf16};
  }
  // The kernel takes whole steps of 16 queries; two groups of keys, the last incomplete.
  Shape small(const Target&, const Shape& shape) const override {
    Shape small = shape;
    small.set("batch", 2);
    small.set("heads", 2);
    small.set("heads_k", 2);
    small.set("seqlen", 256);
    return small;
  }
  PreparedLaunch prepare(const Target& target, const Shape& shape) const override;
};

enum Operand : std::uint8_t { dq, dk, dv, q, k, v, dout, lse, delta };

AttentionGradients operands_in(const AttentionSize& s, const std::vector<DeviceBuffer>& memory) {
  const auto bf16 = [&](std::size_t operand) {
    return [&memory, operand](std::size_t index) { return memory[operand].value(Number::bf16, index); };
  };
  return AttentionGradients{bf16(q),
                            bf16(k),
                            bf16(v),
                            bf16(dout),
                            bf16(dk),
                            bf16(dv),
                            [s, &memory](std::size_t token, std::size_t head, std::size_t d) {
                              const std::size_t row = (token / s.seqlen * s.heads + head) * s.seqlen + token % s.seqlen;
                              return memory[dq].value(Number::f32, row * dim + d);
                            }};
}

// [batch, heads, seqlen]. A large problem's take too long: plausible ones instead, and nothing is compared.
void add_statistics(const AttentionSize& s, std::vector<DeviceBuffer>& buffers) {
  std::vector<float> of_lse(s.tokens() * s.heads, std::log(static_cast<float>(s.seqlen))), of_delta(of_lse.size(), 0);
  if (s.seqlen <= 512) {
    const RowStatistics rows = row_statistics(s, operands_in(s, buffers));
    for (std::size_t at = 0; at < of_lse.size(); ++at) {
      const std::size_t token = at / s.heads, head = at % s.heads;
      const std::size_t to = (token / s.seqlen * s.heads + head) * s.seqlen + token % s.seqlen;
      of_lse[to] = rows.lse[at];
      of_delta[to] = rows.delta[at];
    }
  }
  buffers.push_back(DeviceBuffer::of(of_lse));
  buffers.push_back(DeviceBuffer::of(of_delta));
}

PreparedLaunch FmhaBackward::prepare(const Target& target, const Shape& shape) const {
  const AttentionSize s = size_of(target, shape);
  const std::size_t elements = s.tokens() * s.heads * dim;
  PreparedLaunch launch;
  const std::uint32_t tiles = ceil_div(s.seqlen, keys_of_group);
  launch.groups = {s.causal ? ceil_div(tiles, 2) : tiles, s.heads, s.batch};
  auto& buffers = launch.buffers;
  buffers.push_back(DeviceBuffer::zeros(elements * 4));
  buffers.push_back(DeviceBuffer::unwritten(elements * 2));
  buffers.push_back(DeviceBuffer::unwritten(elements * 2));
  for (std::uint64_t seed = 1; seed <= 4; ++seed) buffers.push_back(DeviceBuffer::random(Number::bf16, elements, seed));
  add_statistics(s, buffers);

  auto& arguments = launch.arguments;
  for (std::size_t operand = dq; operand <= delta; ++operand) arguments.pointer(buffers[operand]);
  const std::uint32_t head = dim * 2, row = s.heads * head, batch = s.seqlen * row;  // bytes from one to the next
  arguments.number(static_cast<float>(s.scale())).number(1.44269504F);
  arguments.number(s.seqlen).number(keys_of_group * row);
  arguments.number(head).number(batch).number(row);  // of q
  arguments.number(1U);                              // heads of q that share one of k
  arguments.number(head).number(batch).number(row);  // of k
  arguments.number(row);                             // of dk
  arguments.number(s.seqlen).number(dim).number(dim).number(s.heads);
  for (int n = 0; n < 2; ++n) arguments.number(head).number(batch).number(row);  // of v and dout
  arguments.number(head).number(batch);                                          // of dk
  arguments.number(head).number(batch).number(row);                              // of dv
  arguments.number(s.seqlen * 4);                                                // of lse
  for (int n = 0; n < 4; ++n) arguments.null();                                  // no beginnings of sequences
  arguments.number(s.seqlen).number(0U).number(0U);                              // no window

  const double rounding = plain_name(target.kernel).ends_with("_rtz") ? bf16_truncation : bf16_rounding;
  launch.compare = [=](const std::vector<DeviceBuffer>& memory) {
    return compare_gradients(s, operands_in(s, memory), rounding);
  };
  return launch;
}

}  // namespace

std::unique_ptr<Family> fmha_backward() { return std::make_unique<FmhaBackward>(); }

}  // namespace rapt::sim::validate
