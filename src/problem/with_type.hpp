// From a DType, known at run time, to the type that stores its elements, known at compile time.
#pragma once

#include <type_traits>

#include "base/float16.hpp"
#include "problem/problem.hpp"

namespace rapt {

// Calls body(std::type_identity<T>()) with the storage type of `dtype`, which is not fp64.
template <class Body>
auto with_float_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::fp16: return body(std::type_identity<Fp16>());
    case DType::bf16: return body(std::type_identity<Bf16>());
    default: return body(std::type_identity<float>());
  }
}

// The same for every type.
template <class Body>
auto with_type(DType dtype, const Body& body) {
  return dtype == DType::fp64 ? body(std::type_identity<double>()) : with_float_type(dtype, body);
}

}  // namespace rapt
