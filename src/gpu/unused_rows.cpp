#include "gpu/unused_rows.hpp"

#include <utility>

namespace rapt::gpu {

namespace {

// Equal steps through memory, in bytes.
struct Steps {
  int64_t count, stride;
};

class Clearing {
 public:
  Clearing(const Device& device, Stream stream) : device_(device), stream_(stream) {}

  // Pieces of `bytes` bytes, in two dimensions.
  void clear(const char* name, char* data, Steps rows, Steps heads, int64_t bytes) const {
    if (data == nullptr || rows.count <= 0 || heads.count == 0 || bytes == 0) return;
    if (heads.count == 1) heads.stride = 0;
    for (Steps* steps : {&rows, &heads})
      if (steps->stride < 0) {
        data += (steps->count - 1) * steps->stride;
        steps->stride = -steps->stride;
      }
    if (rows.stride < heads.stride) std::swap(rows, heads);
    if (heads.stride == bytes) return clear_rows(name, data, rows, heads.count * bytes);
    if (rows.count < heads.count) std::swap(rows, heads);
    for (int64_t i = 0; i < heads.count; ++i) clear_rows(name, data + i * heads.stride, rows, bytes);
  }
  void clear(const char* name, const View& view, int64_t from, int64_t total, int64_t heads, int64_t row_elements,
             int64_t element) const {
    if (view)
      clear(name, view.data + from * view.seq * element, {total - from, view.seq * element},
            {heads, view.head * element}, row_elements * element);
  }

 private:
  void clear_rows(const char* name, char* data, const Steps& rows, int64_t width) const {
    const bool dense = rows.count == 1 || rows.stride == width;
    const Status status =
        device_.driver->clear_async(data, static_cast<size_t>(dense ? width : rows.stride), static_cast<size_t>(width),
                                    static_cast<size_t>(rows.count), stream_);
    device_.driver->check(status, "clearing rows of ", name, " that belong to no sequence on ", device_.text());
  }

  const Device& device_;
  const Stream stream_;
};

// The first row behind the last sequence, 0 if it is not known.
int64_t end_of(const Call& call, const int32_t* cu_seqlens) { return call.device_lengths ? 0 : cu_seqlens[call.batch]; }

}  // namespace

void clear_unused_rows(const ForwardCall& call, const Pass&, const Device& device, Stream stream) {
  if (call.cu_seqlens_q == nullptr) return;
  const Clearing clearing(device, stream);
  const int64_t end = end_of(call, call.cu_seqlens_q);
  clearing.clear("out", call.out, end, call.total_q, call.heads_q, call.head_dim_v, dtype_bytes(call.dtype));
  constexpr int64_t kFloat = sizeof(float);
  if (call.lse)
    clearing.clear("lse", call.lse.data + end * call.lse.query * kFloat, {call.total_q - end, call.lse.query * kFloat},
                   {call.heads_q, call.lse.head * kFloat}, kFloat);
}

void clear_unused_rows(const BackwardCall& call, const Pass& pass, const Device& device, Stream stream) {
  const PassKernel& first = pass.kernels[0];
  if (first.variant->family() == Family::hopper && first.workgroups > 0) return;  // backward_statistics_hopper does it
  const Clearing clearing(device, stream);
  const int64_t element = dtype_bytes(call.dtype);
  if (call.cu_seqlens_q != nullptr)
    clearing.clear("dq", call.dq, end_of(call, call.cu_seqlens_q), call.total_q, call.heads_q, call.head_dim, element);
  if (call.cu_seqlens_k == nullptr) return;
  const int64_t end = end_of(call, call.cu_seqlens_k);
  clearing.clear("dk", call.dk, end, call.total_k, call.heads_k, call.head_dim, element);
  clearing.clear("dv", call.dv, end, call.total_k, call.heads_k, call.head_dim_v, element);
}

}  // namespace rapt::gpu
