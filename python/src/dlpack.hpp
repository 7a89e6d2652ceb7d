// The part of DLPack's binary interface (version 1.3) that Python objects hand over: capsules from `__dlpack__`, and
// the table of C functions in `__dlpack_c_exchange_api__`, which takes a tenth of the time.
#pragma once

#include <cstdint>

#include "rapt/rapt.h"

namespace rapt::python::dlpack {

// rapt_tensor is laid out like DLTensor.
using Tensor = rapt_tensor;

struct Version {
  uint32_t major, minor;
};

struct Managed {  // in a capsule named "dltensor"
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

inline constexpr uint64_t kReadOnly = 1;

struct ManagedVersioned {  // in a capsule named "dltensor_versioned"
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  Tensor tensor;
};

// In a capsule named "dlpack_exchange_api", which exists as long as the process. The functions return 0, or set a
// Python error.
struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  int (*allocate)(Tensor* prototype, ManagedVersioned** out, void* context,
                  void (*set_error)(void* context, const char* kind, const char* message));
  int (*export_managed)(void* object, ManagedVersioned** out);
  int (*import_managed)(ManagedVersioned* tensor, void** object);
  int (*borrow)(void* object, Tensor* out);  // null if the library has no such function
  int (*current_stream)(int32_t device_type, int32_t device_id, void** stream);
};

inline constexpr int32_t kCudaHost = 3, kRocmHost = 11;  // pinned memory of the host

}  // namespace rapt::python::dlpack
