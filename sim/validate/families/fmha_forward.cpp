// Attention forward in bf16, aiter's fmha_v3_fwd: q, k, v and the result are [batch, seqlen, heads, dim] as in its
// Python interface, and the logarithms of the softmax's divisors are written too. The _group kernels take the
// beginnings of the sequences, here of equal lengths.
#include "sim/validate/families/attention.hpp"
#include "sim/validate/families/families.hpp"
#include "sim/validate/families/gemm.hpp"
#include "sim/validate/input/input_error.hpp"

namespace rapt::sim::validate {
namespace {

class FmhaForward final : public Family {
 public:
  std::string_view name() const override { return "fmha-fwd"; }
  bool has(std::string_view kernel) const override {
    return kernel.starts_with("fmha_fwd_hd") && kernel.find("_bf16") != std::string_view::npos;
  }
  std::uint32_t argument_bytes(const Target&) const override { return 512; }
  Work work(const Target& target, const Shape& shape) const override;
  Shape small(const Target& target, const Shape& shape) const override;
  PreparedLaunch prepare(const Target& target, const Shape& shape) const override;
};

// What a kernel's name says.
struct Kind {
  bool wide;  // q and k have 192 elements instead of 128
  bool causal, group;
  bool truncates;  // to bf16

  explicit Kind(const Target& target)
      : wide(says(target, "_hd192")),
        causal(says(target, "_causal")),
        group(says(target, "_group")),
        truncates(says(target, "_rtz")) {}
  std::uint32_t rows() const { return wide ? 128 : 256; }  // of a workgroup

 private:
  static bool says(const Target& target, std::string_view word) {
    return plain_name(target.kernel).find(word) != std::string_view::npos;
  }
};

AttentionSize size_of(const Target& target, const Shape& shape) {
  const Kind kind(target);
  const AttentionSize size{shape.number("batch"),
                           shape.number("heads"),
                           shape.number("heads_k"),
                           shape.number("seqlen"),
                           shape.number("head_dim"),
                           128,
                           kind.causal};
  const auto need = [&](const char* word, const std::string& value) {
    if (shape.word(word) != value)
      throw InputError("shape '" + shape.text() + "': " + word + " must be " + value + " for " +
                       std::string(plain_name(target.kernel)));
  };
  need("head_dim", kind.wide ? "192" : "128");
  need("causal", kind.causal ? "1" : "0");
  if (size.heads % size.heads_k != 0)
    throw InputError("shape '" + shape.text() + "': heads must be a multiple of heads_k");
  return size;
}

// The order in which a kernel goes through tiles, as the launcher chooses it.
std::uint32_t tuning(const Target& target, const AttentionSize& size) {
  if (Kind(target).wide && target.arch == Arch::gfx942) return 0;
  return size.causal && (size.heads % 8 != 0 || size.seqlen > 16384) ? 3 : 5;
}

std::array<std::uint32_t, 3> groups_of(const Target& target, const AttentionSize& size) {
  const Kind kind(target);
  const bool wide_gfx942 = kind.wide && target.arch == Arch::gfx942;
  const std::uint32_t tiles = ceil_div(size.seqlen, kind.rows());
  // A workgroup of most causal kernels takes a tile from the beginning and one from the end.
  const bool single = !kind.causal || (wide_gfx942 && kind.group);
  const std::uint32_t pairs = single ? tiles : ceil_div(tiles, 2);
  if (kind.group) return {size.heads, size.batch, pairs};
  if (wide_gfx942) return {size.heads, tiles, size.batch};
  return {pairs, size.heads, size.batch};
}

Work FmhaForward::work(const Target& target, const Shape& shape) const {
  const AttentionSize s = size_of(target, shape);
  const double dims = s.qk_dim + s.v_dim;
  return {s.flops(), static_cast<double>(s.tokens()) * ((s.heads + s.heads_k) * dims * 2 + s.heads * 4.0),
          MatrixType::bf16};
}

// Heads that share keys, more than two tiles of rows, the last incomplete, and the same order of the tiles.
Shape FmhaForward::small(const Target& target, const Shape& shape) const {
  const std::uint32_t heads = tuning(target, size_of(target, shape)) == 3 ? 4 : 8;
  Shape small = shape;
  small.set("batch", 2);
  small.set("heads", heads);
  small.set("heads_k", heads / 4);
  small.set("seqlen", 2 * Kind(target).rows() + 37);
  return small;
}

PreparedLaunch FmhaForward::prepare(const Target& target, const Shape& shape) const {
  const Kind kind(target);
  const AttentionSize s = size_of(target, shape);
  enum : std::uint8_t { out, q, k, v, lse, starts };
  PreparedLaunch launch;
  launch.groups = groups_of(target, s);
  launch.group_size = {kind.wide ? 256U : 512U, 1, 1};
  auto& buffers = launch.buffers;
  buffers.push_back(DeviceBuffer::unwritten(s.tokens() * s.heads * s.v_dim * 2));
  buffers.push_back(DeviceBuffer::random(Number::bf16, s.tokens() * s.heads * s.qk_dim, 1));
  buffers.push_back(DeviceBuffer::random(Number::bf16, s.tokens() * s.heads_k * s.qk_dim, 2));
  buffers.push_back(DeviceBuffer::random(Number::bf16, s.tokens() * s.heads_k * s.v_dim, 3));
  buffers.push_back(DeviceBuffer::unwritten(s.tokens() * s.heads * 4));
  std::vector<std::uint32_t> beginnings;
  for (std::uint32_t n = 0; n <= s.batch; ++n) beginnings.push_back(n * s.seqlen);
  buffers.push_back(DeviceBuffer::of(beginnings));

  auto& arguments = launch.arguments;
  // Bytes from one row, head and problem of the batch to the next.
  const auto strides = [&](std::uint32_t heads, std::uint32_t dim) {
    arguments.number(heads * dim * 2).number(dim * 2).number(s.seqlen * heads * dim * 2);
  };
  const auto sequences = [&] {
    for (int n = 0; n < 2; ++n)
      if (kind.group) arguments.pointer(buffers[starts]);
      else arguments.null();
  };
  const std::uint32_t q_row = s.heads * s.qk_dim * 2;
  const std::uint32_t lse_head = 4 * (kind.group ? static_cast<std::uint32_t>(s.tokens()) : s.seqlen);
  for (const std::size_t operand : {out, q, k, v, lse}) arguments.pointer(buffers[operand]);
  arguments.number(static_cast<float>(s.scale())).number(s.seqlen);
  arguments.number(q_row).number(kind.rows() * q_row).number(s.qk_dim * 2).number(s.seqlen * q_row);
  arguments.number(s.heads / s.heads_k);
  strides(s.heads_k, s.qk_dim);
  arguments.number(tuning(target, s)).number(1U);  // with lse
  arguments.number(s.seqlen).number(s.qk_dim).number(s.v_dim).number(s.heads);
  strides(s.heads_k, s.v_dim);
  strides(s.heads, s.v_dim);
  sequences();  // without padding between them
  arguments.number(lse_head);
  sequences();  // with padding

  launch.compare = [=](const std::vector<DeviceBuffer>& memory) {
    const auto bf16 = [&](std::size_t operand) {
      return [&memory, operand](std::size_t index) { return memory[operand].value(Number::bf16, index); };
    };
    const auto lse_of = [&](std::size_t token, std::size_t head) {
      const std::size_t index =
          kind.group ? head * s.tokens() + token : (token / s.seqlen * s.heads + head) * s.seqlen + token % s.seqlen;
      return memory[lse].value(Number::f32, index);
    };
    return compare_attention(s, {bf16(q), bf16(k), bf16(v), bf16(out), lse_of},
                             kind.truncates ? bf16_truncation : bf16_rounding);
  };
  return launch;
}

}  // namespace

std::unique_ptr<Family> fmha_forward() { return std::make_unique<FmhaForward>(); }

}  // namespace rapt::sim::validate
