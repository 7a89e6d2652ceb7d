#include "sim/machine/operands/tables.hpp"

namespace rapt::sim {

void register_valu(HandlerTable& table) {
  valu::register_float(table);
  valu::register_min_max(table);
  valu::register_rounding(table);
  valu::register_divide(table);
  valu::register_transcendental(table);
  valu::register_convert(table);
  valu::register_convert_packed(table);
  valu::register_cube(table);
  valu::register_integer(table);
  valu::register_integer16(table);
  valu::register_integer64(table);
  valu::register_bits(table);
  valu::register_bytes(table);
  valu::register_carry(table);
  valu::register_compare_float(table);
  valu::register_compare_integer(table);
  valu::register_class(table);
  valu::register_move(table);
  valu::register_lanes(table);
  valu::register_dual(table);
  valu::register_scalar_result(table);
}

}  // namespace rapt::sim
