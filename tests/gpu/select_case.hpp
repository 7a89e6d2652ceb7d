// Shared by tests of selection: kernels that an archive could have, and a table's last row.
#pragma once

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "gpu/select.hpp"
#include "kernels/operations.hpp"

namespace rapt::gpu {

inline Variant variant(const std::string& name, DType dtype, int32_t head_dim, const char* features, int32_t block_q) {
  Variant v;
  v.name = name;
  v.operation = "forward";
  v.features = features;
  v.dtype = dtype;
  v.head_dim = head_dim;
  v.block_q = block_q;
  v.block_k = 64;
  v.threads = 256;
  v.argument_size = sizeof(rapt_forward_args);
  return v;
}

inline const std::vector<Variant> kVariants = {
    variant("forward.d64.bf16.plain.k64w4", DType::bf16, 64, "plain", 128),
    variant("forward.d64.bf16.general.k64w4", DType::bf16, 64, "general", 128),
    variant("forward.d128.bf16.plain.k64w2", DType::bf16, 128, "plain", 64),
    variant("forward.d128.bf16.plain.k64w8", DType::bf16, 128, "plain", 256),
    variant("forward.d256.bf16.general.k32w4", DType::bf16, 256, "general", 128),
    variant("forward.d128.fp16.plain.k64w8", DType::fp16, 128, "plain", 256),
};

inline Variant by_triton(const Operation& operation, const char* features = "plain") {
  Variant v = variant(cat(operation.name, ".d64.bf16.", features, ".tq256k64w8"), DType::bf16, 64, features, 256);
  v.operation = operation.name;
  v.triton = {32768, 16, 1 << 20};
  v.argument_size = static_cast<int32_t>(operation.argument_size) + 16;
  return v;
}

inline const std::string kLast = "forward use=smallest by=rule\n";

}  // namespace rapt::gpu
