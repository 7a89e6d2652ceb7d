// A library that calls AOTriton as libtorch_hip.so does, for the test of `rapt install-aotriton`.
#include "aotriton/abi/functions.hpp"

#ifdef CALLS_THE_FUTURE
namespace aotriton::v4::flash {
Error attn_fwd();
}
#endif

extern "C" int calls_aotriton(const aotriton::v3::flash::attn_fwd_params& params) {
  using aotriton::Stream;
#ifdef CALLS_THE_FUTURE
  aotriton::v4::flash::attn_fwd();
#endif
  aotriton::v3::flash::attn_fwd(params, 3, Stream(nullptr), nullptr);
  return aotriton::v2::flash::check_gpu(Stream(nullptr));
}
