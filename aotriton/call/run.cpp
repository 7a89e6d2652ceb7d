#include <tuple>
#include <utility>

#include "aotriton/base/failure.hpp"
#include "aotriton/call/attention.hpp"
#include "aotriton/call/dropout.hpp"
#include "aotriton/call/lse.hpp"
#include "aotriton/call/packing.hpp"
#include "aotriton/hip/kernels.hpp"

namespace rapt::aot {

namespace {

const char* consequence(const Device* device) {
  return device != nullptr ? "Its results are NaN." : "Its results are as they were.";
}

// Dropout's mask depends on a row's batch and head.
Error check_mask_of(const Attention& attention, const T4& signs) {
  const auto batch = static_cast<int64_t>(signs.size(0)), heads = static_cast<int64_t>(signs.size(1));
  if (batch == attention.batch() && heads == attention.heads_q()) return aotriton::kSuccess;
  return fail(aotriton::kInvalidValue, "encoded_softmax has batch %lld and %lld heads, must have %lld and q's %lld",
              static_cast<long long>(batch), static_cast<long long>(heads), static_cast<long long>(attention.batch()),
              static_cast<long long>(attention.heads_q()));
}

Error check_layout(const Call& call) {
  using namespace aotriton::v3::flash;
  for (const uint32_t known : {kDenseBits, kCompactBits, kPaddedBits, kStridedBits, kUsedKeysBits})
    if (call.varlen_bits == known) return aotriton::kSuccess;
  return fail(aotriton::kNotSupported,
              "varlen_bits is 0x%x, must be 0 (dense), 0x%x (packed), 0x%x (padded), 0x%x (packed with gaps) or 0x%x "
              "(packed with used keys)",
              call.varlen_bits, kCompactBits, kPaddedBits, kStridedBits, kUsedKeysBits);
}

Error run_packed(const ForwardCall& call, const Device& device) {
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
  if (call.dropout > 0)
    if (const Error e = write_numbers(call, device)) return e;
  if (!given(call.encoded_softmax)) return aotriton::kSuccess;
  if (const Error e = check_mask_of(attention, call.encoded_softmax)) return e;
  return write_mask(call.encoded_softmax, call.dropout, call.seed, call.offset, device, call.stream);
}

Error run_packed(const BackwardCall& call, const Device& device) {
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
    to.set_rows(from, attention.place(), attention.packed());
    return to.c();
  };
  // PyTorch's tensors without elements are null too, but still asked for.
  const auto gradient = [&](const T4& from, const T4& of, Tensor& to) {
    return from ? rows(from, to) : !given(of) ? rows(of, to) : nullptr;
  };
  c.out = rows(call.out, out);
  c.dout = rows(call.dout, dout);
  c.dq = gradient(call.dq, call.q, dq);
  c.dk = gradient(call.dk, call.k, dk);
  c.dv = gradient(call.dv, call.v, dv);
  if (given(call.dbias)) dbias.set_scores(call.dbias, attention.place());
  c.dbias = dbias.c();
  return from_rapt(rapt_backward(&c));
}

Error pack_inputs(Packing& packing, Call& call, bool out_is_input) {
  for (const auto& [tensor, side] : {std::pair{&call.q, Side::q}, {&call.k, Side::k}, {&call.v, Side::k}})
    if (const Error e = packing.pack(*tensor, side, true)) return e;
  return packing.pack(call.out, Side::q, out_is_input);
}

Error run(const ForwardCall& call, const Device& device) {
  Packing packing(call, device);
  if (!packing.needed()) return run_packed(call, device);
  ForwardCall packed = call;
  if (const Error e = packing.reserve({{"q", &call.q}, {"k", &call.k}, {"v", &call.v}, {"out", &call.out}})) return e;
  if (const Error e = pack_inputs(packing, packed, false)) return e;
  if (const Error e = run_packed(packed, device)) return e;
  return packing.unpack(packed.out, call.out, Side::q);
}

Error run(const BackwardCall& call, const Device& device) {
  Packing packing(call, device);
  if (!packing.needed()) return run_packed(call, device);
  BackwardCall packed = call;
  if (const Error e = packing.reserve({{"q", &call.q},
                                       {"k", &call.k},
                                       {"v", &call.v},
                                       {"out", &call.out},
                                       {"dout", &call.dout},
                                       {"dq", &call.dq},
                                       {"dk", &call.dk},
                                       {"dv", &call.dv}}))
    return e;
  if (const Error e = pack_inputs(packing, packed, true)) return e;
  if (const Error e = packing.pack(packed.dout, Side::q, true)) return e;
  for (const auto& [tensor, side] : {std::pair{&packed.dq, Side::q}, {&packed.dk, Side::k}, {&packed.dv, Side::k}})
    if (const Error e = packing.pack(*tensor, side, false)) return e;
  if (const Error e = run_packed(packed, device)) return e;
  for (const auto& [from, to, side] :
       {std::tuple{&packed.dq, &call.dq, Side::q}, {&packed.dk, &call.dk, Side::k}, {&packed.dv, &call.dv, Side::k}})
    if (const Error e = packing.unpack(*from, *to, side)) return e;
  return aotriton::kSuccess;
}

// Prepares what a layout of 0.14 needs.
template <class AnyCall>
Error run_layout(const AnyCall& call, const Device& device) {
  if (const Error e = check_layout(call)) return e;
  if (const Error e = load_kernels(device, call.stream)) return e;
  if (call.varlen_bits != aotriton::v3::flash::kUsedKeysBits) return run(call, device);
  KeySums sums(device, call.stream);
  AnyCall with_sums = call;
  if (const Error e = sums.replace_lengths(with_sums)) return e;
  return run(with_sums, device);
}

}  // namespace

Error forward(const ForwardCall& call) {
  const Device* const device = device_of(call.stream);
  const Error e = device != nullptr ? run_layout(call, *device) : aotriton::kNoBinaryForGpu;
  if (e == aotriton::kSuccess) return e;
  if (device != nullptr) {
    const CurrentDevice current(*device);
    fill_nan(call.out, call.stream);
    fill_nan(call.lse, call.stream);
    fill_nan(call.encoded_softmax, call.stream);
  }
  report(call.function, consequence(device));
  return e;
}

Error backward(const BackwardCall& call) {
  const Device* const device = device_of(call.stream);
  const Error e = device != nullptr ? run_layout(call, *device) : aotriton::kNoBinaryForGpu;
  if (e == aotriton::kSuccess) return e;
  if (device != nullptr) {
    const CurrentDevice current(*device);
    for (const T4* t : {&call.dq, &call.dk, &call.dv, &call.dbias}) fill_nan(*t, call.stream);
  }
  report(call.function, consequence(device));
  return e;
}

Error encode_dropout(const char* function, const T4& signs, float dropout, const DeviceNumber& seed,
                     const DeviceNumber& offset, HipStream stream) {
  const auto encode = [&](const Device& device) {
    if (const Error e = load_kernels(device, stream)) return e;
    return write_mask(signs, dropout, seed, offset, device, stream);
  };
  const Device* const device = device_of(stream);
  const Error e = device != nullptr ? encode(*device) : aotriton::kNoBinaryForGpu;
  if (e == aotriton::kSuccess) return e;
  if (device != nullptr) {
    const CurrentDevice current(*device);
    fill_nan(signs, stream);
  }
  report(function, consequence(device));
  return e;
}

}  // namespace rapt::aot
