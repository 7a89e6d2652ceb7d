// What tests of choosing share: kernels that an archive could have, a device, and what choose() takes of them.
#pragma once

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "gpu/choose.hpp"

namespace rapt::gpu {

inline Variant variant(const std::string& name, DType dtype, int32_t head_dim, const char* features, int32_t block_q) {
  Variant v;
  v.name = name;
  v.operation = name.substr(0, name.find('.'));
  v.known = find_operation(v.operation);
  v.features = features;
  v.dtype = dtype;
  v.head_dim = head_dim;
  v.block_q = block_q;
  v.block_k = 64;
  v.waves = 4;
  v.threads = 256;
  if (v.known) v.argument_size = static_cast<int32_t>(v.known->argument_size);
  return v;
}

inline const std::vector<Variant> kForwards = {
    variant("forward.d64.bf16.plain.k64w4", DType::bf16, 64, "plain", 128),
    variant("forward.d64.bf16.general.k64w4", DType::bf16, 64, "general", 128),
    variant("forward.d128.bf16.plain.k64w2", DType::bf16, 128, "plain", 64),
    variant("forward.d128.bf16.plain.k64w8", DType::bf16, 128, "plain", 256),
    variant("forward.d256.bf16.general.k32w4", DType::bf16, 256, "general", 128),
    variant("forward.d128.fp16.plain.k64w8", DType::fp16, 128, "plain", 256),
};

inline Variant by_triton(const std::string& operation) {
  Variant v = variant(cat(operation, ".d64.bf16.plain.tq256k64w8"), DType::bf16, 64, "plain", 256);
  v.triton = {32768, 16, 1 << 20};
  v.argument_size += 16;
  return v;
}

inline const std::string kLast = "forward use=forward.smallest by=rule\n";

// A shelf of kernels with a table, on a device of 100 units. `table` and `kernels` outlive it.
struct MadeUpShelf {
  MadeUpShelf(const std::string& table, std::vector<Variant> list)
      : kernels(std::move(list)), tuning(Tuning::parse(table, "table")) {
    device.id = {RAPT_ROCM, 0};
    device.arch = "gfx942";
    device.compute_units = 100;
    tuning.compare_checksums(kernels);
  }

  Choice choose(Needs needs, std::string_view named = "") const {
    const Shelf shelf = {kernels, tuning, device, "made_up.rapt"};
    needs.named = find_named(shelf, named);
    return gpu::choose(shelf, needs, true);
  }
  // "NAME + NAME by table line 2", or why none.
  std::string text(const Needs& needs, std::string_view named = "") const {
    const Choice choice = choose(needs, named);
    if (!choice.refusal.empty()) return choice.refusal;
    std::string names;
    for (const PassKernel& k : choice.pass.kernels) names += cat(names.empty() ? "" : " + ", k.variant->name);
    return cat(names, " by ", choice.pass.row->where);
  }

  std::vector<Variant> kernels;
  Tuning tuning;
  Device device;
};

}  // namespace rapt::gpu
