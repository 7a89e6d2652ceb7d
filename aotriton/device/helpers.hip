// Kernels for the forms of lse and of the encoded softmax that AOTriton's callers expect and Rapt's kernels do not
// write.
#include "aotriton/device/arguments.h"
#include "kernels/amd/isa/arguments.hpp"
#include "kernels/common/philox.h"

namespace rapt::amd {

namespace {

using LseArguments = Constant<rapt_aot_convert_lse>;
using CopyArguments = Constant<rapt_aot_copy_rows>;
using DropoutArguments = Constant<rapt_aot_encode_dropout>;

constexpr int kThreads = 256;

DEVICE char* row_at(Constant<rapt_aot_rows>& rows, int batch, int head, int row) {
  const int first = rows.first ? rows.first[batch] : 0;
  return rows.data + batch * rows.batch + head * rows.head + (first + row) * rows.row;
}

DEVICE uint64_t sum(Constant<rapt_aot_number>& number) { return number.value + (number.data ? *number.data : 0); }

// Calls body(batch, head) for the pairs of a workgroup.
template <class Body>
DEVICE void for_pairs(Constant<rapt_aot_pairs>& pairs, int workgroup, const Body& body) {
  for (int n = workgroup; n < pairs.count; n += pairs.step) body(n / pairs.heads, n % pairs.heads);
}

template <class Element>
DEVICE void store(char* to, uint32_t bits) {
  *reinterpret_cast<Element*>(to) = static_cast<Element>(bits);
}

}  // namespace

KERNEL(kThreads, 4) convert_lse(rapt_aot_convert_lse) {
  LseArguments& a = arguments<LseArguments>();
  const int row = workgroup_id() * kThreads + thread_id();
  for_pairs(a.pairs, static_cast<int>(__builtin_amdgcn_workgroup_id_y()), [&](int batch, int head) {
    const int count = a.cu_seqlens ? a.cu_seqlens[batch + 1] - a.cu_seqlens[batch] : a.rows;
    if (row >= (a.pads ? a.rows : count)) return;
    float value = __builtin_inff();
    if (row < count) {
      const float from = *reinterpret_cast<const float*>(row_at(a.from, batch, head, row));
      if (from != -__builtin_inff()) value = from * a.factor;
    }
    *reinterpret_cast<float*>(row_at(a.to, batch, head, row)) = value;
  });
}

KERNEL(kThreads, 4) copy_rows(rapt_aot_copy_rows) {
  CopyArguments& a = arguments<CopyArguments>();
  const int row = workgroup_id();
  for_pairs(a.pairs, static_cast<int>(__builtin_amdgcn_workgroup_id_y()), [&](int batch, int head) {
    if (row >= a.cu_seqlens[batch + 1] - a.cu_seqlens[batch]) return;
    const auto* const from = reinterpret_cast<const uint16_t*>(row_at(a.from, batch, head, row));
    auto* const to = reinterpret_cast<uint16_t*>(row_at(a.to, batch, head, row));
    for (int n = thread_id(); n < a.halves; n += kThreads) to[n] = from[n];
  });
}

KERNEL(kThreads, 4) sum_lengths(rapt_aot_sum_lengths) {
  auto& a = arguments<Constant<rapt_aot_sum_lengths>>();
  if (thread_id() != 0) return;
  int sum = 0;
  a.sums[0] = 0;
  for (int n = 0; n < a.count; ++n) a.sums[n + 1] = sum += a.lengths[n];
}

KERNEL(kThreads, 4) write_numbers(rapt_aot_write_numbers) {
  auto& a = arguments<Constant<rapt_aot_write_numbers>>();
  if (thread_id() != 0) return;
  if (a.seed_output) *a.seed_output = sum(a.seed);
  if (a.offset_output) *a.offset_output = sum(a.offset);
}

KERNEL(kThreads, 4) encode_dropout(rapt_aot_encode_dropout) {
  DropoutArguments& a = arguments<DropoutArguments>();
  const int column = (workgroup_id() * kThreads + thread_id()) * 4;
  const int row = static_cast<int>(__builtin_amdgcn_workgroup_id_y()) * 2;
  const uint64_t offset = sum(a.offset), key = rapt_philox_key(sum(a.seed), offset);
  for_pairs(a.pairs, static_cast<int>(__builtin_amdgcn_workgroup_id_z()), [&](int batch, int head) {
    const auto bits = rapt_philox(key, static_cast<uint32_t>(column / 4), static_cast<uint32_t>(row / 2),
                                  static_cast<uint32_t>(batch * a.pairs.heads + head), static_cast<uint32_t>(offset));
    char* const at = a.data + batch * a.batch + head * a.head;
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const int i = row + n / 4, j = column + n % 4;
      if (i >= a.rows || j >= a.columns) continue;
      const bool keep = rapt_philox_field(bits, static_cast<uint32_t>(i), static_cast<uint32_t>(j)) < a.keep_threshold;
      char* const to = at + i * a.row + j * a.column;
      if (a.element == 2) store<uint16_t>(to, keep ? a.kept : a.dropped);
      else store<uint32_t>(to, keep ? a.kept : a.dropped);
    }
  });
}

}  // namespace rapt::amd
