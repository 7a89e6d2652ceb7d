// Fills in a struct of AOTriton with PyTorch's own aotriton_adapter.h, which PyTorch's wheels have, and Rapt's
// include/aotriton. python/tests/test_aotriton_headers.py compiles it.
#include <ATen/ATen.h>
#define USE_ROCM  // only for the adapter: the rest of a wheel for CPUs has no HIP
#include <ATen/native/transformers/hip/aotriton_adapter.h>
#include <aotriton/flash.h>

namespace adapter = sdp::aotriton_adapter;
namespace v3 = aotriton::v3::flash;

#if HAS_INPUT_AND_OUTPUT  // the names since PyTorch 2.15
#define INPUT adapter::mk_input_aotensor
#define OUTPUT adapter::mk_output_aotensor
#else
#define INPUT adapter::mk_aotensor
#define OUTPUT adapter::mk_aotensor
#endif

hipError_t backward(const at::Tensor& rows, const at::Tensor& starts, hipStream_t stream) {
  if (aotriton::v2::flash::check_gpu(stream) != hipSuccess || aotriton::isArchExperimentallySupported(stream))
    return hipSuccess;
  v3::attn_bwd_params params;
  params.Q = INPUT(rows, "q");
  params.DQ = OUTPUT(rows, "dq");
#if AOTRITON_VERSION_MINOR >= 14
  params.seqinfo_q0 = INPUT<1>(starts, "cu_seqlens_q");
  params.varlen_bits = adapter::mk_varlen_bits_packed();
#else
  params.cu_seqlens_q = INPUT<1>(starts, "cu_seqlens_q");
  params.varlen_type = v3::VarlenType::CompactVarlen;
#endif
  params.philox_seed_ptr = adapter::mk_aoscalartensor(starts);
  params.philox_offset1 = adapter::mk_philoxtensor(nullptr);
  adapter::LazyTensorContext context{.like_tensor = rows, .tensor_name = "delta"};
  params.D = adapter::mklazy_empty_like<2>(&context);
  params.DQ_ACC = adapter::mklazy_fp32zeros<4>(&context);
  params.causal_type = v3::CausalType::WindowedAttention;
  params.window_left = v3::WindowValue::TopLeftAligned;
  return v3::attn_bwd(params, v3::attn_bwd_params::kVersion, stream);
}
