// AOTriton's questions about the GPU of a stream.
#include "aotriton/abi/functions.hpp"
#include "aotriton/hip/devices.hpp"

namespace aotriton {

namespace {

constexpr uint64_t kAmd = 0x1002;

uint32_t number_of(ihipStream_t* stream) {
  const rapt::aot::Device* const device = rapt::aot::device_of(stream);
  return device != nullptr ? device->number : 0;
}

}  // namespace

uint64_t getArchFromStream(ihipStream_t* stream) {
  const uint64_t number = number_of(stream);
  return number != 0 ? kAmd << 32 | number : 0;
}

uint64_t getGpuFromStream(ihipStream_t* stream) {
  const uint64_t number = number_of(stream);
  return number != 0 ? kAmd << 32 | number << 16 : 0;
}

int getMultiProcessorCount(ihipStream_t* stream) {
  const rapt::aot::Device* const device = rapt::aot::device_of(stream);
  return device != nullptr ? device->compute_units : 0;
}

// PyTorch refuses such GPUs unless an environment variable allows them.
bool isArchExperimentallySupported(ihipStream_t*) { return false; }
bool isArchTechPreview(ihipStream_t*) { return false; }

namespace v2::flash {

Error check_gpu(Stream stream) {
  const rapt::aot::Device* const device = rapt::aot::device_of(stream.native());
  return device != nullptr && device->has_kernels ? kSuccess : kNoBinaryForGpu;
}

}  // namespace v2::flash

template class TensorView<1>;
template class TensorView<2>;
template class TensorView<3>;
template class TensorView<4>;

}  // namespace aotriton
