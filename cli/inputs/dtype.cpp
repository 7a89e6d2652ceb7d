#include "cli/inputs/dtype.hpp"

#include <cfloat>

namespace rapt::cli {

std::string dtype_name(rapt_dtype dtype) {
  if (same(dtype, kBool)) return "bool";
  const std::string bits = std::to_string(dtype.bits);
  switch (dtype.code) {
    case RAPT_FLOAT: return "fp" + bits;
    case RAPT_BFLOAT: return "bf" + bits;
    case RAPT_INT: return "int" + bits;
    case RAPT_UINT: return "uint" + bits;
    default: return "type " + std::to_string(dtype.code) + "/" + bits;
  }
}

double largest_finite(rapt_dtype dtype) {
  if (same(dtype, kFp16)) return 65504;
  if (same(dtype, kBf16)) return 0x1.fep127;
  return same(dtype, kFp32) ? FLT_MAX : DBL_MAX;
}

}  // namespace rapt::cli
