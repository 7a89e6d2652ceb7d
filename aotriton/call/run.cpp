#include <cmath>
#include <numbers>

#include "aotriton/call/attention.hpp"
#include "aotriton/base/failure.hpp"
#include "aotriton/call/lse.hpp"
#include "aotriton/call/memory.hpp"
#include "aotriton/hip/kernels.hpp"

namespace rapt::aot {

namespace {

constexpr const char* kResultsAreNan = "Its results are NaN.";

Error run_forward(const ForwardCall& call, const Device& device) {
  if (const Error e = load_kernels(device, call.stream)) return e;
  Attention attention(call, device);
  if (const Error e = attention.prepare(false)) return e;
  Lse lse(call, attention);
  if (const Error e = lse.prepare_to_write()) return e;
  Tensor out;
  out.set_rows(call.out, attention.place(), attention.packed());
  rapt_forward_call c = RAPT_INIT(rapt_forward_call);
  c.attention = attention.attention();
  c.execution = attention.execution();
  c.out = out.c();
  c.lse = lse.c();
  if (const Error e = from_rapt(rapt_forward(&c))) return e;
  if (const Error e = lse.write()) return e;
  if (call.dropout > 0) {
    if (const Error e = write_number(call.seed_output, attention.seed(), call.stream)) return e;
    if (const Error e = write_number(call.offset_output, attention.offset(), call.stream)) return e;
  }
  if (!given(call.encoded_softmax)) return aotriton::kSuccess;
  return launch_encode_dropout(call.encoded_softmax, dropout_of(call.dropout, attention.seed(), attention.offset()),
                               device, call.stream);
}

Error run_backward(const BackwardCall& call, const Device& device) {
  if (const Error e = load_kernels(device, call.stream)) return e;
  Attention attention(call, device);
  if (const Error e = attention.prepare(call.deterministic)) return e;
  Lse lse(call, attention);
  if (const Error e = lse.read()) return e;
  Tensor out, dout, dq, dk, dv, dbias;
  rapt_backward_call c = RAPT_INIT(rapt_backward_call);
  c.attention = attention.attention();
  c.execution = attention.execution();
  c.lse = lse.c();
  const auto rows = [&](const T4& from, Tensor& to) {
    if (from) to.set_rows(from, attention.place(), attention.packed());
    return to.c();
  };
  c.out = rows(call.out, out);
  c.dout = rows(call.dout, dout);
  c.dq = rows(call.dq, dq);
  c.dk = rows(call.dk, dk);
  c.dv = rows(call.dv, dv);
  if (given(call.dbias)) dbias.set_scores(call.dbias, attention.place());
  c.dbias = dbias.c();
  return from_rapt(rapt_backward(&c));
}

}  // namespace

Error forward(const ForwardCall& call) {
  const Device* const device = device_of(call.stream);
  const Error e = device != nullptr ? run_forward(call, *device) : aotriton::kNoBinaryForGpu;
  if (e == aotriton::kSuccess) return e;
  if (device != nullptr) {
    const CurrentDevice current(*device);
    fill_nan(call.out, call.stream);
    fill_nan(call.lse, call.stream);
  }
  report(call.function, kResultsAreNan);
  return e;
}

Error backward(const BackwardCall& call) {
  const Device* const device = device_of(call.stream);
  const Error e = device != nullptr ? run_backward(call, *device) : aotriton::kNoBinaryForGpu;
  if (e == aotriton::kSuccess) return e;
  if (device != nullptr) {
    const CurrentDevice current(*device);
    for (const T4* t : {&call.dq, &call.dk, &call.dv, &call.dbias}) fill_nan(*t, call.stream);
  }
  report(call.function, kResultsAreNan);
  return e;
}

Error encode_dropout(const char* function, const T4& signs, float dropout, const DeviceNumber& seed,
                     const DeviceNumber& offset, HipStream stream) {
  const auto run = [&](const Device& device) {
    uint64_t seed_value = 0, offset_value = 0;
    if (const Error e = load_kernels(device, stream)) return e;
    if (dropout > 0)
      if (const Error e = read_numbers(seed, offset, stream, seed_value, offset_value)) return e;
    return launch_encode_dropout(signs, dropout_of(dropout, seed_value, offset_value), device, stream);
  };
  const Device* const device = device_of(stream);
  const Error e = device != nullptr ? run(*device) : aotriton::kNoBinaryForGpu;
  if (e == aotriton::kSuccess) return e;
  if (device != nullptr) {
    const CurrentDevice current(*device);
    fill_nan(signs, stream);
  }
  report(function, kResultsAreNan);
  return e;
}

}  // namespace rapt::aot
