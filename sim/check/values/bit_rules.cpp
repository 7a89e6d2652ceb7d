#include "sim/check/values/bit_rules.hpp"

#include <unordered_map>

namespace rapt::sim {
namespace {

constexpr Bits low24(Bits a) { return {a.value & 0xffffff, a.undefined & 0xffffff}; }

const std::unordered_map<std::string_view, BitRule>& rules() {
  static const std::unordered_map<std::string_view, BitRule> all = [] {
    std::unordered_map<std::string_view, BitRule> m;
    const auto add = [&m](std::initializer_list<std::string_view> names, BitRule rule) {
      for (const std::string_view name : names) m[name] = rule;
    };
    add({"v_and_b32", "s_and_b32", "s_and_b64"}, [](Bits a, Bits b, Bits) { return a & b; });
    add({"v_or_b32", "s_or_b32", "s_or_b64"}, [](Bits a, Bits b, Bits) { return a | b; });
    add({"v_xor_b32", "s_xor_b32", "s_xor_b64"}, [](Bits a, Bits b, Bits) { return a ^ b; });
    add({"v_xnor_b32", "s_xnor_b32", "s_xnor_b64"}, [](Bits a, Bits b, Bits) { return ~(a ^ b); });
    add({"v_not_b32", "s_not_b32", "s_not_b64"}, [](Bits a, Bits, Bits) { return ~a; });
    add({"s_andn2_b32", "s_andn2_b64", "s_and_not1_b32", "s_and_not1_b64"},
        [](Bits a, Bits b, Bits) { return a & ~b; });
    add({"s_orn2_b32", "s_orn2_b64", "s_or_not1_b32", "s_or_not1_b64"}, [](Bits a, Bits b, Bits) { return a | ~b; });
    add({"s_nand_b32", "s_nand_b64"}, [](Bits a, Bits b, Bits) { return ~(a & b); });
    add({"s_nor_b32", "s_nor_b64"}, [](Bits a, Bits b, Bits) { return ~(a | b); });
    add({"v_and_or_b32"}, [](Bits a, Bits b, Bits c) { return (a & b) | c; });
    add({"v_or3_b32"}, [](Bits a, Bits b, Bits c) { return a | b | c; });
    add({"v_xor3_b32"}, [](Bits a, Bits b, Bits c) { return a ^ b ^ c; });
    add({"v_bfi_b32"}, [](Bits a, Bits b, Bits c) { return (a & b) | (~a & c); });
    add({"v_add_u32", "v_add_nc_u32", "v_sub_u32", "v_sub_nc_u32", "v_subrev_u32", "v_subrev_nc_u32", "v_mul_lo_u32",
         "s_add_u32", "s_add_i32", "s_sub_u32", "s_sub_i32", "s_mul_i32", "s_add_co_u32", "s_add_co_i32",
         "s_sub_co_u32", "s_sub_co_i32"},
        [](Bits a, Bits b, Bits) { return spread(a, b); });
    add({"v_add3_u32"}, [](Bits a, Bits b, Bits c) { return spread(spread(a, b), c); });
    add({"v_mul_u32_u24", "v_mul_i32_i24"}, [](Bits a, Bits b, Bits) { return spread(low24(a), low24(b)); });
    add({"v_mad_u32_u24", "v_mad_i32_i24"},
        [](Bits a, Bits b, Bits c) { return spread(spread(low24(a), low24(b)), c); });
    add({"v_lshl_add_u32"}, [](Bits a, Bits b, Bits c) {
      if (b.undefined & 31) return Bits{0, ~0U};
      return spread({0, a.undefined << (b.value & 31)}, c);
    });
    add({"v_add_lshl_u32"}, [](Bits a, Bits b, Bits c) {
      if (c.undefined & 31) return Bits{0, ~0U};
      return Bits{0, spread(a, b).undefined << (c.value & 31)};
    });
    return m;
  }();
  return all;
}

}  // namespace

BitRule bit_rule(std::string_view name) {
  const auto found = rules().find(name);
  return found == rules().end() ? nullptr : found->second;
}

}  // namespace rapt::sim
