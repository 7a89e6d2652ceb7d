#include "gpu/driver/cuda/cuda_driver.hpp"

#include <memory>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "gpu/driver/cuda/library.hpp"

namespace rapt::gpu {

namespace {

CudaAddress address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

class CudaDriver final : public Driver {
 public:
  rapt_device_type type() const override { return RAPT_CUDA; }
  const char* name() const override { return "CUDA"; }
  const std::string& library() const override { return cuda_.path(); }
  const std::string& runtime() const override { return cuda_.runtime(); }
  std::string describe(Status status) const override { return cuda_.describe(static_cast<CudaError>(status)); }
  bool is_out_of_memory(Status status) const override {
    return static_cast<CudaError>(status) == kCudaErrorOutOfMemory;
  }

  int32_t device_count() override {
    int count = 0;
    if (cuda_.has_device()) cuda_.check(cuda_.cuDeviceGetCount(&count), "counting CUDA's devices");
    return count;
  }
  DeviceProperties properties(int32_t device) override;

  Status enter(int32_t device, intptr_t& before) override {
    CudaContext own = nullptr, current = nullptr;
    if (const Status status = primary_context(device, own); status != Status::success) return status;
    if (const CudaError error = cuda_.cuCtxGetCurrent(&current)) return static_cast<Status>(error);
    if (current == own) return Status::success;
    const CudaError error = cuda_.cuCtxSetCurrent(own);
    if (error == kCudaSuccess) before = reinterpret_cast<intptr_t>(current);
    return static_cast<Status>(error);
  }
  void leave(intptr_t before) override {  // the device was current before, or none was, so this succeeds
    static_cast<void>(cuda_.cuCtxSetCurrent(reinterpret_cast<CudaContext>(before)));
  }
  Status synchronize_device() override { return status(cuda_.cuCtxSynchronize()); }

  Status allocate(void** data, size_t bytes) override {
    return allocated(data, [&](CudaAddress* to) { return cuda_.cuMemAlloc_v2(to, bytes); });
  }
  Status free(void* data) override { return status(cuda_.cuMemFree_v2(address(data))); }
  bool allocates_in_stream_order() const override { return true; }
  Status allocate_async(void** data, size_t bytes, Stream stream) override {
    CudaPool pool = nullptr;
    if (const CudaError error = current_pool(pool)) return status(error);
    return allocated(data, [&](CudaAddress* to) { return cuda_.cuMemAllocFromPoolAsync(to, bytes, pool, stream); });
  }
  Status free_async(void* data, Stream stream) override { return status(cuda_.cuMemFreeAsync(address(data), stream)); }
  Status copy(void* to, const void* from, size_t bytes) override {
    const CudaError error = cuda_.cuMemcpy(address(to), address(from), bytes);
    // From device to device it returns before the copy is complete.
    return status(error == kCudaSuccess ? cuda_.cuStreamSynchronize(nullptr) : error);
  }
  Status copy_async(void* to, const void* from, size_t bytes, Stream stream) override {
    return status(cuda_.cuMemcpyAsync(address(to), address(from), bytes, stream));
  }
  Status clear_async(void* to, size_t pitch, size_t width, size_t rows, Stream stream) override {
    if (pitch == width) return status(cuda_.cuMemsetD8Async(address(to), 0, width * rows, stream));
    return status(cuda_.cuMemsetD2D8Async(address(to), pitch, 0, width, rows, stream));
  }
  Status locate(const void* pointer, MemoryPlace& place) override {
    unsigned type = kCudaMemoryUnknown, managed = 0;
    int device = 0;
    static constexpr int kAsked[] = {kCudaPointerMemoryType, kCudaPointerIsManaged, kCudaPointerDeviceOrdinal,
                                     kCudaPointerRangeStart, kCudaPointerRangeSize};
    place = {};
    void* answers[] = {&type, &managed, &device, &place.begin, &place.bytes};
    // Unlike the function for one attribute, it succeeds for memory that CUDA does not know.
    const CudaError error = cuda_.cuPointerGetAttributes(std::size(kAsked), kAsked, answers, address(pointer));
    if (error != kCudaSuccess || type == kCudaMemoryUnknown) return status(error);
    place.kind = managed != 0 ? MemoryKind::managed : type == kCudaMemoryHost ? MemoryKind::host : MemoryKind::device;
    place.device = device;
    return Status::success;
  }

  Status synchronize_stream(Stream stream) override { return status(cuda_.cuStreamSynchronize(stream)); }
  Status is_capturing(Stream stream, bool& capturing) override {
    int state = 0;
    const CudaError error = cuda_.cuStreamIsCapturing(stream, &state);
    capturing = state != 0;
    return status(error);
  }

  Status load_module(Module* module, const void* code) override {
    CudaPool pool = nullptr;
    static_cast<void>(current_pool(pool));  // made here, because it cannot be made while a stream is being captured
    return status(cuda_.cuModuleLoadData(module, code));
  }
  Status find_function(Function* function, Module module, const char* symbol) override {
    if (const CudaError error = cuda_.cuModuleGetFunction(function, module, symbol)) return status(error);
    int device = 0, most = 0, declared = 0;
    if (const CudaError error = cuda_.cuCtxGetDevice(&device)) return status(error);
    if (const CudaError error = cuda_.cuDeviceGetAttribute(&most, kCudaAttributeMaxSharedMemoryPerBlockOptin, device))
      return status(error);
    if (const CudaError error = cuda_.cuFuncGetAttribute(&declared, kCudaFunctionSharedBytes, *function))
      return status(error);
    return status(cuda_.cuFuncSetAttribute(*function, kCudaFunctionMaxDynamicSharedBytes, most - declared));
  }
  Status launch(Function function, const LaunchShape& shape, const void* arguments, size_t bytes,
                Stream stream) override {
    CudaLaunchAttribute attributes[2] = {};
    unsigned count = 0;
    if (shape.cluster != Extent{}) {
      attributes[count].id = kCudaLaunchClusterDimension;
      attributes[count++].value.cluster = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
    }
    if (shape.overlaps) {
      attributes[count].id = kCudaLaunchOverlaps;
      attributes[count++].value.overlaps = 1;
    }
    const CudaLaunchConfig config = {.grid_x = shape.grid.x,
                                     .grid_y = shape.grid.y,
                                     .grid_z = shape.grid.z,
                                     .block_x = shape.block.x,
                                     .block_y = shape.block.y,
                                     .block_z = shape.block.z,
                                     .shared_bytes = shape.dynamic_shared_memory,
                                     .stream = stream,
                                     .attributes = attributes,
                                     .attribute_count = count};
    void* parameters[] = {const_cast<void*>(arguments)};
    void* buffer[] = {kCudaLaunchBuffer, parameters[0], kCudaLaunchBufferSize, &bytes, kCudaLaunchEnd};
    const bool fields = shape.fields_are_arguments;
    return status(cuda_.cuLaunchKernelEx(&config, function, fields ? nullptr : parameters, fields ? buffer : nullptr));
  }

  Status encode_tensor_map(void* map, const TensorLayout& t) override {
    const auto size = [](int64_t n) { return static_cast<uint64_t>(n); };
    const uint64_t sizes[] = {size(t.columns), size(t.rows), size(t.heads), size(t.batch)};
    const uint64_t strides[] = {size(t.row_stride), size(t.head_stride), size(t.batch_stride)};  // of all but columns
    const unsigned box[] = {kBoxColumns, static_cast<unsigned>(t.box_rows), 1, 1}, every[] = {1, 1, 1, 1};
    const int type = t.bf16 ? kCudaTensorBfloat16 : kCudaTensorFloat16;
    return status(cuda_.cuTensorMapEncodeTiled(map, type, 4, t.data, sizes, strides, box, every, kCudaNoInterleave,
                                               kCudaSwizzle128Bytes, kCudaL2Promotion128Bytes, kCudaFillZeros));
  }

  Status create_event(Event* event) override { return status(cuda_.cuEventCreate(event, kCudaEventDefault)); }
  Status destroy_event(Event event) override { return status(cuda_.cuEventDestroy_v2(event)); }
  Status record_event(Event event, Stream stream) override { return status(cuda_.cuEventRecord(event, stream)); }
  Status synchronize_event(Event event) override { return status(cuda_.cuEventSynchronize(event)); }
  Status elapsed(Event from, Event to, float& milliseconds) override {
    return status(cuda_.cuEventElapsedTime(&milliseconds, from, to));
  }

 private:
  static Status status(CudaError error) { return static_cast<Status>(error); }

  template <class Allocate>
  static Status allocated(void** data, const Allocate& allocate) {
    CudaAddress found = 0;
    const CudaError error = allocate(&found);
    if (error == kCudaSuccess) *data = reinterpret_cast<void*>(found);
    return status(error);
  }

  int attribute(int which, int32_t device) const {
    int value = 0;
    cuda_.check(cuda_.cuDeviceGetAttribute(&value, which, device), "asking for attribute ", which, " of cuda:", device);
    return value;
  }

  // The current device's pool. A pool of our own keeps freed memory: the default pool returns it to the system whenever
  // someone waits for the device, and mapping it again takes half a millisecond.
  CudaError current_pool(CudaPool& pool) {
    int device = 0;
    if (const CudaError error = cuda_.cuCtxGetDevice(&device)) return error;
    const auto index = static_cast<size_t>(device);
    const std::lock_guard lock(pools_mutex_);
    if (index >= pools_.size()) pools_.resize(index + 1);
    if (pools_[index] == nullptr) {
      CudaPoolProperties properties = {};
      properties.allocation_type = kCudaPinnedMemory;
      properties.location = {kCudaLocationDevice, device};
      if (const CudaError error = cuda_.cuMemPoolCreate(&pool, &properties)) return error;
      uint64_t all = UINT64_MAX;
      static_cast<void>(cuda_.cuMemPoolSetAttribute(pool, kCudaPoolReleaseThreshold, &all));  // or else it is slower
      pools_[index] = pool;
    }
    pool = pools_[index];
    return kCudaSuccess;
  }

  // The context that the CUDA run-time library, and so PyTorch, uses too. It is kept because other libraries use it.
  Status primary_context(int32_t device, CudaContext& context) {
    const auto index = static_cast<size_t>(device);
    const std::lock_guard lock(contexts_mutex_);
    if (index >= contexts_.size()) contexts_.resize(index + 1);
    if (contexts_[index] == nullptr)
      if (const CudaError error = cuda_.cuDevicePrimaryCtxRetain(&contexts_[index], device)) {
        contexts_[index] = nullptr;
        return status(error);
      }
    context = contexts_[index];
    return Status::success;
  }

  const Cuda cuda_;
  std::mutex contexts_mutex_;
  std::vector<CudaContext> contexts_;  // by device
  std::mutex pools_mutex_;
  std::vector<CudaPool> pools_;  // by device
};

DeviceProperties CudaDriver::properties(int32_t device) {
  DeviceProperties d;
  const int major = attribute(kCudaAttributeComputeCapabilityMajor, device),
            minor = attribute(kCudaAttributeComputeCapabilityMinor, device);
  d.target = cat("sm_", major, minor);
  d.arch = cat("sm_", major, "0");  // the code of X.0 runs on every X.Y
  char name[256] = "";
  cuda_.check(cuda_.cuDeviceGetName(name, sizeof name, device), "asking for the name of cuda:", device);
  d.name = name;
  size_t bytes = 0;
  cuda_.check(cuda_.cuDeviceTotalMem_v2(&bytes, device), "asking for the memory of cuda:", device);
  d.memory = bytes;
  d.compute_units = attribute(kCudaAttributeMultiprocessorCount, device);
  d.shared_cache_bytes = attribute(kCudaAttributeL2CacheSize, device);
  d.reads_host_memory = attribute(kCudaAttributePageableMemoryAccess, device) != 0;
  return d;
}

}  // namespace

Driver& cuda_driver() {
  static Driver& driver = *new CudaDriver;  // never destroyed: calls may come from destructors that run at exit
  return driver;
}

}  // namespace rapt::gpu
