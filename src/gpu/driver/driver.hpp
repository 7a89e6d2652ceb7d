// A GPU vendor's run-time library as the rest of src/gpu sees it: HIP (driver/hip), CUDA (driver/cuda), in tests a
// fake. All launches, copies and allocations go through it, so archives, selection and launch code are the same for
// every vendor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/text.hpp"
#include "rapt/rapt.h"

namespace rapt::gpu {

using Module = void*;    // loaded code
using Function = void*;  // a kernel of a module
using Stream = void*;    // the caller's hipStream_t or CUstream; null is the default stream
using Event = void*;

// The result of a call: success, or the vendor's error code.
enum class Status : int { success = 0 };

struct DeviceProperties {
  std::string name;    // "AMD Instinct MI300X"
  std::string target;  // as the driver names the architecture: "gfx942:sramecc+:xnack-"
  std::string arch;    // as in archives' names: "gfx942"
  int32_t compute_units = 0;
  int32_t multiprocessors = 0;     // the units that workgroups are dispatched to; on RDNA, pairs of compute units
  int32_t simds = 0;               // of a multiprocessor; 0: unknown
  int32_t xcds = 1;                // dies, each with its own L2; workgroups are distributed round-robin
  int64_t shared_cache_bytes = 0;  // the largest cache that a die's units have to themselves; 0: unknown
  uint64_t memory = 0;
  bool reads_host_memory = false;  // all of it, by page migration or one address space
};

enum class MemoryKind {
  unknown,  // the driver does not know it: ordinary host memory
  host,     // pinned: allocated or registered by the driver
  managed,  // migrates between host and devices
  device,
};

struct MemoryPlace {
  MemoryKind kind = MemoryKind::unknown;
  int32_t device = 0;              // its device; meaningless if the kind is unknown
  uintptr_t begin = 0, bytes = 0;  // the allocation that it is part of; no bytes if the driver does not say

  bool holds(const void* pointer) const { return reinterpret_cast<uintptr_t>(pointer) - begin < bytes; }
};

struct Extent {
  uint32_t x = 1, y = 1, z = 1;

  bool operator==(const Extent&) const = default;
};

struct LaunchShape {
  Extent grid;                         // workgroups
  Extent cluster;                      // workgroups that run together and share memory; 1, 1, 1 is no cluster
  Extent block;                        // threads per workgroup
  uint32_t dynamic_shared_memory = 0;  // bytes per workgroup, beside the kernel's declared bytes
  bool overlaps = false;               // CUDA: may start before the stream's last kernel ends, and waits for it itself
  bool fields_are_arguments = false;   // the kernel has one argument per field of the struct
};

// Where the copy engine finds a tensor [batch, heads, rows, columns] of 16-bit numbers, whose columns are neighbours.
// It copies `box_rows` rows of one head at once, 64 columns of each, swizzled in lines of 128 bytes.
struct TensorLayout {
  void* data = nullptr;
  bool bf16 = false;                                          // or fp16
  int64_t batch = 0, heads = 0, rows = 0, columns = 0;        // all at least 1
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;  // bytes, multiples of 16
  int32_t box_rows = 0;                                       // at most 256
};
inline constexpr int32_t kBoxColumns = 64;

// All functions may be called from many threads at once. A function that returns a Status acts on the calling thread's
// current device (DeviceScope) unless it names one. If it fails, it leaves nothing behind: a vendor's "last error" is
// reset.
class Driver {
 public:
  Driver() = default;
  virtual ~Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  virtual rapt_device_type type() const = 0;
  virtual const char* name() const = 0;                 // "HIP"
  virtual const std::string& library() const = 0;       // the file
  virtual const std::string& runtime() const = 0;       // "ROCm, HIP 7.1.25424"
  virtual void add_details(rapt_device_info&) const {}  // fields that only this driver's devices have
  virtual std::string describe(Status) const = 0;       // the vendor's name and text of a failure
  virtual bool is_out_of_memory(Status) const = 0;

  // Both throw Error if the library fails.
  virtual int32_t device_count() = 0;
  virtual DeviceProperties properties(int32_t device) = 0;

  // Makes a device the calling thread's current one. `before` receives what leave() needs to restore the previous one,
  // or is unchanged if the device was already current.
  virtual Status enter(int32_t device, intptr_t& before) = 0;
  virtual void leave(intptr_t before) = 0;
  virtual Status synchronize_device() = 0;

  virtual Status allocate(void** data, size_t bytes) = 0;
  virtual Status free(void* data) = 0;
  virtual bool allocates_in_stream_order() const = 0;  // older libraries do not
  virtual Status allocate_async(void** data, size_t bytes, Stream) = 0;
  virtual Status free_async(void* data, Stream) = 0;
  // Between host and device memory in any direction; the driver derives it from the pointers.
  virtual Status copy(void* to, const void* from, size_t bytes) = 0;
  virtual Status copy_async(void* to, const void* from, size_t bytes, Stream) = 0;
  // Zeros in `rows` rows of `width` bytes, whose beginnings are `pitch` bytes apart.
  virtual Status clear_async(void* to, size_t pitch, size_t width, size_t rows, Stream) = 0;
  virtual Status locate(const void* pointer, MemoryPlace& place) = 0;

  virtual Status synchronize_stream(Stream) = 0;
  virtual Status is_capturing(Stream, bool& capturing) = 0;

  // `code` must outlive the module. A function may be launched with all the dynamic shared memory that the device has.
  virtual Status load_module(Module*, const void* code) = 0;
  virtual Status find_function(Function*, Module, const char* symbol) = 0;
  // The kernel's arguments are a struct; the bytes are read before launch() returns.
  virtual Status launch(Function, const LaunchShape&, const void* arguments, size_t bytes, Stream) = 0;

  // Fills the 128 bytes at `map`, a multiple of 64, which kernels with tensor maps are passed. Throws Error if the
  // vendor's devices have no copy engine for them.
  virtual Status encode_tensor_map(void* map, const TensorLayout& layout);

  virtual Status create_event(Event*) = 0;
  virtual Status destroy_event(Event) = 0;
  virtual Status record_event(Event, Stream) = 0;
  virtual Status synchronize_event(Event) = 0;
  virtual Status elapsed(Event from, Event to, float& milliseconds) = 0;

  // Throws Error with describe(status), after `what` was being done: pieces of a sentence.
  template <class... Pieces>
  void check(Status status, const Pieces&... what) const {
    if (status != Status::success) fail(status, cat(what...));
  }
  // Whether the stream is being captured. Throws Error if the library fails.
  bool captures(Stream stream);
  // Like check(), for the path of every call, where the sentence must be written only on failure.
  [[noreturn]] void fail(Status status, const std::string& what) const;
};

// The driver of a type of device, opened on first use and never closed. Throws Error if there is none.
Driver& driver_of(int32_t type);

// For tests: `driver` serves its type from now on. Devices used before keep their driver.
void install_driver(Driver& driver);

class DeviceScope {
 public:
  DeviceScope(Driver& driver, int32_t device) : driver_(driver), device_(device) {
    if (const Status status = driver.enter(device, before_); status != Status::success) fail(status);
  }
  ~DeviceScope() {
    if (before_ != kUnchanged) driver_.leave(before_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  static constexpr intptr_t kUnchanged = -1;
  [[noreturn]] void fail(Status status) const;

  Driver& driver_;
  int32_t device_;
  intptr_t before_ = kUnchanged;
};

}  // namespace rapt::gpu
