// Classes of floating-point values: the second source's bits say which classes to test for.
#include "sim/machine/vector/compare.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

// The bit of the value's class: 0 is a signalling NaN and 1 a quiet one; then -infinity, negative normal, negative
// denormal, -0, +0, positive denormal, positive normal, and 9 is +infinity. Source: RDNA3 ISA, V_CMP_CLASS_F32.
template <class Bits>
unsigned class_of(Bits bits, FloatFormat format) {
  const bool negative = (bits & format.sign()) != 0;
  const Bits magnitude = bits & static_cast<Bits>(~format.sign());
  if (format.is_nan(bits)) return format.is_signalling(bits) ? 0 : 1;
  if (magnitude == format.infinity()) return negative ? 2 : 9;
  if (magnitude == 0) return negative ? 5 : 6;
  if (format.is_denormal(bits)) return negative ? 4 : 7;
  return negative ? 3 : 8;
}

}  // namespace

// The value is read as bits: the mode does not flush a value before it is classified.
void register_class(HandlerTable& t) {
  add_comparisons<bool(b32, u32)>(t, "v_cmp_class_f32", "v_cmpx_class_f32", [](std::uint32_t x, std::uint32_t classes) {
    return (classes >> class_of(x, format_f32) & 1) != 0;
  });
  add_comparisons<bool(b16, u16)>(t, "v_cmp_class_f16", "v_cmpx_class_f16", [](std::uint32_t x, std::uint32_t classes) {
    return (classes >> class_of(x, format_f16) & 1) != 0;
  });
  add_comparisons<bool(b64, u32)>(t, "v_cmp_class_f64", "v_cmpx_class_f64", [](std::uint64_t x, std::uint32_t classes) {
    return (classes >> class_of(x, format_f64) & 1) != 0;
  });
}

}  // namespace rapt::sim::valu
