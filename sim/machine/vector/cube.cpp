// Cube map coordinates: which axis is the major one, and the other two on its face (RDNA3 ISA, V_CUBE*).
#include "sim/machine/operands/valu.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

bool z_major(float x, float y, float z) { return std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y); }
bool y_major(float x, float y) { return std::fabs(y) >= std::fabs(x); }

}  // namespace

void register_cube(HandlerTable& t) {
  add<f32(f32, f32, f32)>(t, "v_cubeid_f32", [](float x, float y, float z) {
    if (z_major(x, y, z)) return z < 0 ? 5.0F : 4.0F;
    if (y_major(x, y)) return y < 0 ? 3.0F : 2.0F;
    return x < 0 ? 1.0F : 0.0F;
  });
  add<f32(f32, f32, f32)>(t, "v_cubesc_f32", [](float x, float y, float z) {
    if (z_major(x, y, z)) return z < 0 ? -x : x;
    if (y_major(x, y)) return x;
    return x < 0 ? z : -z;
  });
  add<f32(f32, f32, f32)>(t, "v_cubetc_f32", [](float x, float y, float z) {
    if (z_major(x, y, z)) return -y;
    if (y_major(x, y)) return y < 0 ? -z : z;
    return -y;
  });
  add<f32(f32, f32, f32)>(t, "v_cubema_f32", [](float x, float y, float z) {
    if (z_major(x, y, z)) return z * 2;
    if (y_major(x, y)) return y * 2;
    return x * 2;
  });
}

}  // namespace rapt::sim::valu
