// The stream in AOTriton's interface: HIP's, in a class that converts from it.
#ifndef RAPT_INCLUDE_AOTRITON_RUNTIME_H
#define RAPT_INCLUDE_AOTRITON_RUNTIME_H

#include <aotriton/config.h>
#include <hip/hip_runtime.h>

namespace AOTRITON_NS {

template <typename Native>
class AOTRITON_API StreamTemplate {
 public:
  StreamTemplate() : stream_(nullptr) {}
  StreamTemplate(Native stream) : stream_(stream) {}
  Native native() const { return stream_; }

 private:
  Native stream_;
};

using Stream = StreamTemplate<hipStream_t>;

}  // namespace AOTRITON_NS

#endif
