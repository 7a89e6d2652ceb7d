// Sums, differences and products with a carry per lane. CLAMP saturates the sum but does not change the carry.
#include "sim/machine/vector/carry.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

using U = std::uint32_t;
using Wide = std::uint64_t;

struct Add {
  U operator()(const Wave&, const Instruction& i, U a, U b, bool in, bool& out) const {
    const Wide sum = Wide{a} + b + (in ? 1 : 0);
    out = sum >> 32 != 0;
    return i.clamp && out ? ~U{0} : static_cast<U>(sum);
  }
};
struct Subtract {
  U operator()(const Wave&, const Instruction& i, U a, U b, bool in, bool& out) const {
    const Wide difference = Wide{a} - b - (in ? 1 : 0);
    out = difference >> 32 != 0;
    return i.clamp && out ? 0 : static_cast<U>(difference);
  }
};
struct SubtractReversed {
  U operator()(const Wave& w, const Instruction& i, U a, U b, bool in, bool& out) const {
    return Subtract{}(w, i, b, a, in, out);
  }
};

// 32 by 32 bits plus 64: the carry is bit 64 of the sum (RDNA3 ISA; of the sign-extended one in the signed form).
struct MultiplyAdd {
  Wide operator()(const Wave&, const Instruction& i, U a, U b, Wide c, bool, bool& out) const {
    const Wide product = Wide{a} * b, sum = product + c;
    out = sum < product;
    return i.clamp && out ? ~Wide{0} : sum;
  }
};
struct MultiplyAddSigned {
  std::int64_t operator()(const Wave&, const Instruction& i, std::int32_t a, std::int32_t b, std::int64_t c, bool,
                          bool& out) const {
    const std::int64_t product = std::int64_t{a} * b;
    std::int64_t sum = 0;
    const bool overflow = __builtin_add_overflow(product, c, &sum);
    out = overflow != (sum < 0);
    if (i.clamp && overflow)
      return product < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
    return sum;
  }
};

}  // namespace

void register_carry(HandlerTable& t) {
  using Sum = u32(u32, u32);
  add_carry<Sum, Carry::out>(t, "v_add_co_u32", Add{});
  add_carry<Sum, Carry::out>(t, "v_sub_co_u32", Subtract{});
  add_carry<Sum, Carry::out>(t, "v_subrev_co_u32", SubtractReversed{});
  add_carry<Sum, Carry::in_and_out>(t, "v_addc_co_u32", Add{});
  add_carry<Sum, Carry::in_and_out>(t, "v_subb_co_u32", Subtract{});
  add_carry<Sum, Carry::in_and_out>(t, "v_subbrev_co_u32", SubtractReversed{});
  add_carry<Sum, Carry::in_and_out>(t, "v_add_co_ci_u32", Add{});
  add_carry<Sum, Carry::in_and_out>(t, "v_sub_co_ci_u32", Subtract{});
  add_carry<Sum, Carry::in_and_out>(t, "v_subrev_co_ci_u32", SubtractReversed{});
  add_carry<u64(u32, u32, u64), Carry::out>(t, "v_mad_u64_u32", MultiplyAdd{});
  add_carry<u64(u32, u32, u64), Carry::out>(t, "v_mad_co_u64_u32", MultiplyAdd{});
  add_carry<i64(i32, i32, i64), Carry::out>(t, "v_mad_i64_i32", MultiplyAddSigned{});
  add_carry<i64(i32, i32, i64), Carry::out>(t, "v_mad_co_i64_i32", MultiplyAddSigned{});
}

}  // namespace rapt::sim::valu
