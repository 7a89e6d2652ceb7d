// Dot products of floats. The products are exact (bf16: fused); each addition rounds to nearest even, whatever the mode
// is. The order is that of each document's pseudocode: RDNA3's v_dot2_* and CDNA4's v_dot2_f32_bf16 add the third
// source last, all others start with it.
#include "sim/machine/packed/dot.hpp"
#include "sim/machine/convert/small_float.hpp"

namespace rapt::sim::packed {

namespace {

enum class Order : std::uint8_t { sum_first, sum_last_on_gfx11, sum_last_but_gfx12 };

bool sum_is_last(Order order, Arch arch) {
  if (order == Order::sum_last_on_gfx11) return contains(gfx11, arch);
  return order == Order::sum_last_but_gfx12 && !contains(gfx12, arch);
}

float flushed(float v, float smallest) { return std::fabs(v) < smallest ? std::copysign(0.0F, v) : v; }

// On RDNA a constant is in both halves (RDNA4 document, "Inline constants with V_DOT2_F32_BF16, ..."). For f16 products
// summed in f32, clang and AMD's own emulator (ROCm/rocm-systems, rocjitsu) have it in the low half.
template <class T, class R, unsigned N>
const std::uint32_t* pair_source(Wave& w, const Instruction& i, unsigned k, Row<N>& scratch) {
  const std::uint32_t* row = word_source<N>(w, i, k, 0, scratch);
  constexpr bool repeated = R::bits == 16 || T::format.mantissa == valu::format_bf16.mantissa;
  if (repeated && is_rdna(w.arch) && i.src[k].kind == OperandKind::constant && !i.src[k].literal)
    for (std::uint32_t& v : scratch) v = (v & 0xffff) * 0x10001;
  return row;
}

// T: of the elements; R: of the third source and the result.
template <class T, class R, Order order, unsigned N>
void dot2(Wave& w, const Instruction& i) {
  if (valu::run_indexed(w, i, dot2<T, R, order, N>)) [[unlikely]]
    return;
  constexpr bool narrow = R::bits == 16;  // a VOP3 operation: neg and abs of whole operands, op_sel of the halves
  alignas(64) Row<N> scratch[3], part[4], out;
  const std::uint32_t* const first = pair_source<T, R, N>(w, i, 0, scratch[0]);
  const std::uint32_t* const second = pair_source<T, R, N>(w, i, 1, scratch[1]);
  const std::uint32_t* const third = word_source<N>(w, i, 2, 0, scratch[2]);
  const bool packed = !narrow && has_packed_fields(i);
  if (!narrow && !packed && (((i.neg | i.abs) & 3) != 0 || i.omod != 0))  // LLVM decodes it of VOP3 and DPP
    throw Fault(FaultKind::illegal_instruction,
                std::string(i.opcode->name) + " with neg, abs or omod is not documented, and not simulated");
  // CDNA's always flush denormals (its documents, "Denormalized and Rounding Modes"), RDNA's bf16 form too.
  const bool flushes = is_cdna(w.arch) || (narrow && T::format.mantissa == valu::format_bf16.mantissa);
  const float smallest = T::format.mantissa == valu::format_f16.mantissa ? 0x1p-14F : 0x1p-126F;
  for (unsigned e = 0; e < 2; ++e)
    for (unsigned k = 0; k < 2; ++k) {
      const HalfFields f = fields(i, e != 0);
      const bool high = packed ? (f.select >> k & 1) != 0 : e != 0;
      const bool negate = packed ? (f.negate >> k & 1) != 0 : narrow && (i.neg >> k & 1) != 0;
      const std::uint32_t keep = narrow && (i.abs >> k & 1) != 0 ? 0x7fff : 0xffff;
      const std::uint32_t* row = k == 0 ? first : second;
      for (unsigned l = 0; l < N; ++l) {
        const float v = T::decode((row[l] >> (high ? 16 : 0) & keep) ^ (negate ? 0x8000 : 0));
        part[2 * e + k][l] = std::bit_cast<std::uint32_t>(flushes ? flushed(v, smallest) : v);
      }
    }
  const bool last = sum_is_last(order, w.arch);
  const bool third_high = narrow && (i.src[2].high || (i.op_sel & 4) != 0);
  for (unsigned l = 0; l < N; ++l) {
    const auto value = [&](unsigned n) { return std::bit_cast<float>(part[n][l]); };
    std::uint32_t bits = third_high ? third[l] >> 16 : third[l];
    if constexpr (narrow) bits &= 0xffff;
    if ((i.abs & 4) != 0) bits &= static_cast<std::uint32_t>(R::format.sign() - 1);
    if ((i.neg & 4) != 0) bits ^= static_cast<std::uint32_t>(R::format.sign());
    float sum = R::decode(bits);
    if (flushes) sum = flushed(sum, narrow ? smallest : 0x1p-126F);
    if (last) sum = std::fma(value(2), value(3), value(0) * value(1)) + sum;
    else sum = std::fma(value(2), value(3), std::fma(value(0), value(1), sum));
    if (sum != sum) sum = std::bit_cast<float>(0x7fc00000);
    std::uint32_t result = R::encode(sum, valu::Round::nearest);
    if (flushes && (result & R::format.infinity()) == 0) result &= static_cast<std::uint32_t>(R::format.sign());
    out[l] = result;
  }
  // On RDNA they ignore CLAMP (RDNA3 and RDNA4 documents, "Output operand modifiers").
  if (i.clamp && is_cdna(w.arch)) valu::modify_result<N>(w, i, valu::info<R>(), true, out.data(), nullptr);
  if constexpr (narrow) valu::place_part<N>(w, i, 16, true, out.data());
  write_lanes<N>(w, i, out);
}

template <class T, class R, Order order>
void add_dot2(HandlerTable& t, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) t.add(name, dot2<T, R, order, 32>, dot2<T, R, order, 64>);
}

// gfx12: four products of fp8 or bf8, added one after the other to the third source, to which neg_hi (abs) and neg
// apply.
template <SmallFloat first, SmallFloat second, unsigned N>
void dot4(Wave& w, const Instruction& i) {
  alignas(64) Row<N> scratch[3], out;
  const std::uint32_t* rows[3];
  for (unsigned k = 0; k < 3; ++k) rows[k] = word_source<N>(w, i, k, 0, scratch[k]);
  for (unsigned l = 0; l < N; ++l) {
    std::uint32_t bits = rows[2][l];
    if ((i.neg_hi & 4) != 0) bits &= 0x7fffffff;
    if ((i.neg & 4) != 0) bits ^= 0x80000000;
    float sum = std::bit_cast<float>(bits);
    for (unsigned shift = 0; shift < 32; shift += 8)
      sum += widen<first>(rows[0][l] >> shift & 0xff) * widen<second>(rows[1][l] >> shift & 0xff);
    out[l] = sum != sum ? 0x7fc00000 : std::bit_cast<std::uint32_t>(sum);
  }
  write_lanes<N>(w, i, out);
}

template <SmallFloat first, SmallFloat second>
void add_dot4(HandlerTable& t, std::string_view name) {
  t.add(name, dot4<first, second, 32>, dot4<first, second, 64>, gfx12);
}

}  // namespace

void register_float_dot(HandlerTable& t) {
  using valu::bf16;
  using valu::f16;
  using valu::f32;
  add_dot2<f16, f32, Order::sum_last_on_gfx11>(t, {"v_dot2_f32_f16"});
  add_dot2<bf16, f32, Order::sum_last_but_gfx12>(t, {"v_dot2_f32_bf16"});
  add_dot2<f16, f32, Order::sum_first>(t, {"v_dot2c_f32_f16", "v_dot2acc_f32_f16"});
  add_dot2<bf16, f32, Order::sum_first>(t, {"v_dot2c_f32_bf16", "v_dot2acc_f32_bf16"});
  add_dot2<f16, f16, Order::sum_last_on_gfx11>(t, {"v_dot2_f16_f16"});
  add_dot2<bf16, bf16, Order::sum_last_on_gfx11>(t, {"v_dot2_bf16_bf16"});
  add_dot4<fp8_format, fp8_format>(t, "v_dot4_f32_fp8_fp8");
  add_dot4<fp8_format, bf8_format>(t, "v_dot4_f32_fp8_bf8");
  add_dot4<bf8_format, fp8_format>(t, "v_dot4_f32_bf8_fp8");
  add_dot4<bf8_format, bf8_format>(t, "v_dot4_f32_bf8_bf8");
}

}  // namespace rapt::sim::packed
