#include "sim/machine/packed/packed.hpp"

namespace rapt::sim {

void register_packed(HandlerTable& table) {
  packed::register_f16(table);
  packed::register_integer(table);
  packed::register_f32(table);
  packed::register_mix(table);
  packed::register_dot(table);
  packed::register_small_float(table);
  packed::register_scaled(table);
}

}  // namespace rapt::sim
