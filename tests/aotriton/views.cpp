#include "client.hpp"

namespace test {

namespace {

using namespace aotriton;

DType dtype_of(const rapt_tensor& t) {
  if (t.dtype.code == RAPT_INT) return aotriton::kInt32;
  return t.dtype.code == RAPT_BFLOAT ? kBFloat16 : t.dtype.bits == 16 ? kFloat16 : kFloat32;
}

intptr_t data_of(const rapt_tensor& t) {
  return reinterpret_cast<intptr_t>(t.data) + static_cast<intptr_t>(t.byte_offset);
}

// The dimensions of t in the given order; -1 is a dimension that t does not have.
template <int Rank>
TensorView<Rank> view(const rapt_tensor& t, std::array<int, Rank> order) {
  typename TensorView<Rank>::Numbers sizes, strides;
  for (size_t i = 0; i < Rank; ++i) {
    sizes[i] = order[i] < 0 ? 1 : static_cast<uint64_t>(t.shape[order[i]]);
    strides[i] = order[i] < 0 ? 0 : static_cast<uint64_t>(t.strides[order[i]]);
  }
  return {data_of(t), sizes, strides, dtype_of(t)};
}

T4 rows_of(const rapt_tensor& t) { return t.ndim == 4 ? view<4>(t, {0, 2, 1, 3}) : view<4>(t, {-1, 1, 0, 2}); }

}  // namespace

rapt_tensor Views::placed(const Tensor& t) {
  rapt_tensor c = t.c();
  c.strides = t.strides().data();  // null where compact
  copies_.place(&c, t);
  return c;
}

rapt_tensor Views::placed_output(Tensor& t) {
  rapt_tensor c = t.c();
  c.strides = t.strides().data();
  copies_.place_output(&c, t);
  return c;
}

T4 Views::rows(const Tensor& t) { return rows_of(placed(t)); }
T4 Views::rows_written(Tensor& t) { return rows_of(placed_output(t)); }
T4 Views::scores_written(Tensor& t) { return view<4>(placed_output(t), {0, 1, 2, 3}); }
T2 Views::matrix(const Tensor& t) { return view<2>(placed(t), {0, 1}); }
T2 Views::matrix_written(Tensor& t) { return view<2>(placed_output(t), {0, 1}); }
T1 Views::lengths(const Tensor& t) { return view<1>(placed(t), {0}); }

T4 Views::scores(const Tensor& t, const rapt_problem& p) {
  const rapt_tensor c = placed(t);
  const int64_t full[4] = {p.batch, p.heads_q, p.seqlen_q, p.seqlen_k};
  T4::Numbers sizes, strides;
  for (size_t i = 0; i < 4; ++i) {
    sizes[i] = static_cast<uint64_t>(full[i]);
    strides[i] = c.shape[i] == 1 ? 0 : static_cast<uint64_t>(c.strides[i]);
  }
  return {data_of(c), sizes, strides, dtype_of(c)};
}

T0 Views::number(uint64_t value) {
  Tensor t(kInt32, {2});
  t.set(0, static_cast<int32_t>(value));
  t.set(1, static_cast<int32_t>(value >> 32));
  return {data_of(placed(t)), kUInt64};
}

}  // namespace test
