// Types of elements in AOTriton's interface.
#ifndef RAPT_INCLUDE_AOTRITON_DTYPES_H
#define RAPT_INCLUDE_AOTRITON_DTYPES_H

#include <aotriton/config.h>
#include <stdint.h>

namespace AOTRITON_NS {

enum AOTRITON_API DType : int32_t {
  kUnknown = 0,
  kFloat32 = 1,
  kFloat16 = 2,
  kBFloat16 = 3,
  kInt8 = 10,
  kInt16 = 11,
  kInt32 = 12,
  kInt64 = 13,
  kUInt8 = 20,
  kUInt16 = 21,
  kUInt32 = 22,
  kUInt64 = 23,
};

}  // namespace AOTRITON_NS

#endif
