#include "aotriton/call/dropout.hpp"

#include "aotriton/base/failure.hpp"
#include "aotriton/call/tensors.hpp"
#include "aotriton/hip/kernels.hpp"
#include "kernels/common/philox.h"

namespace rapt::aot {

namespace {

rapt_aot_number number(const DeviceNumber& n) { return {n.value, static_cast<const uint64_t*>(n.data)}; }

}  // namespace

Error write_mask(const T4& signs, float probability, const DeviceNumber& seed, const DeviceNumber& offset,
                 const Device& device, HipStream stream) {
  const aotriton::DType dtype = signs.dtype();
  if (dtype != aotriton::kFloat32 && dtype != aotriton::kFloat16 && dtype != aotriton::kBFloat16)
    return fail(aotriton::kInvalidValue, "encoded_softmax is not fp32, fp16 or bf16");
  if (!(probability >= 0 && probability < 1))
    return fail(aotriton::kInvalidValue, "dropout_p is %g, must be in [0, 1)", static_cast<double>(probability));
  rapt_aot_encode_dropout a = {};
  a.data = static_cast<char*>(signs.data_ptr());
  a.element = bytes_of(dtype);
  const auto stride = [&](int i) { return static_cast<int64_t>(signs.stride(i)) * a.element; };
  a.batch = stride(0);
  a.head = stride(1);
  a.row = stride(2);
  a.column = stride(3);
  a.pairs = pairs_of(static_cast<int64_t>(signs.size(0)), static_cast<int64_t>(signs.size(1)));
  a.rows = static_cast<int32_t>(signs.size(2));
  a.columns = static_cast<int32_t>(signs.size(3));
  a.kept = dtype == aotriton::kFloat32 ? 0x3F000000u : dtype == aotriton::kBFloat16 ? 0x3F00u : 0x3800u;
  a.dropped = a.kept | 1u << (8 * a.element - 1);
  a.keep_threshold = rapt_keep_threshold(static_cast<double>(probability));
  if (probability > 0) {  // without dropout, callers pass memory that is not set
    a.seed = number(seed);
    a.offset = number(offset);
  }
  const Grid grid = {blocks(a.columns, 1024), blocks(a.rows, 2), static_cast<uint32_t>(a.pairs.step)};
  return launch(device, stream, grid, a);
}

Error write_numbers(const ForwardCall& call, const Device& device) {
  rapt_aot_write_numbers a = {};
  a.seed = number(call.seed);
  a.offset = number(call.offset);
  a.seed_output = static_cast<uint64_t*>(call.seed_output.data_ptr());
  a.offset_output = static_cast<uint64_t*>(call.offset_output.data_ptr());
  if (a.seed_output == nullptr && a.offset_output == nullptr) return aotriton::kSuccess;
  return launch(device, call.stream, {1, 1, 1}, a);
}

}  // namespace rapt::aot
