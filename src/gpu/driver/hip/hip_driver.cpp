#include "gpu/driver/hip/hip_driver.hpp"

#include "gpu/driver/hip/library.hpp"
#include "gpu/driver/hip/properties.hpp"

namespace rapt::gpu {

namespace {

class HipDriver final : public Driver {
 public:
  rapt_device_type type() const override { return RAPT_ROCM; }
  const char* name() const override { return "HIP"; }
  const std::string& library() const override { return hip_.path(); }
  const std::string& runtime() const override {
    static const std::string text = hip_.runtime();
    return text;
  }
  void add_details(rapt_device_info& info) const override {
    info.simulator = hip_.simulator();
    info.time_model = hip_.time_model();
  }
  std::string describe(Status status) const override { return hip_.describe(static_cast<HipError>(status)); }
  bool is_out_of_memory(Status status) const override { return static_cast<HipError>(status) == kHipErrorOutOfMemory; }

  int32_t device_count() override {
    int count = 0;
    const HipError error = hip_.hipGetDeviceCount(&count);
    if (error == kHipErrorNoDevice) {
      hip_.forget_error();
      return 0;
    }
    hip_.check(error, "counting HIP's devices");
    return count;
  }
  DeviceProperties properties(int32_t device) override { return hip_properties(hip_, device); }

  Status enter(int32_t device, intptr_t& before) override {
    int current = 0;
    if (const HipError error = hip_.hipGetDevice(&current)) return status(error);
    if (current == device) return Status::success;
    const Status set = status(hip_.hipSetDevice(device));
    if (set == Status::success) before = current;
    return set;
  }
  void leave(intptr_t before) override {  // the device was current before, so this succeeds
    static_cast<void>(hip_.hipSetDevice(static_cast<int>(before)));
  }
  Status synchronize_device() override { return status(hip_.hipDeviceSynchronize()); }

  Status allocate(void** data, size_t bytes) override { return status(hip_.hipMalloc(data, bytes)); }
  Status free(void* data) override { return status(hip_.hipFree(data)); }
  bool allocates_in_stream_order() const override { return hip_.hipMallocAsync && hip_.hipFreeAsync; }
  Status allocate_async(void** data, size_t bytes, Stream stream) override {
    return status(hip_.hipMallocAsync(data, bytes, stream));
  }
  Status free_async(void* data, Stream stream) override { return status(hip_.hipFreeAsync(data, stream)); }
  Status copy(void* to, const void* from, size_t bytes) override {
    return status(hip_.hipMemcpy(to, from, bytes, kHipMemcpyDefault));
  }
  Status copy_async(void* to, const void* from, size_t bytes, Stream stream) override {
    return status(hip_.hipMemcpyAsync(to, from, bytes, kHipMemcpyDefault, stream));
  }
  Status clear_async(void* to, size_t pitch, size_t width, size_t rows, Stream stream) override {
    if (pitch == width) return status(hip_.hipMemsetAsync(to, 0, width * rows, stream));
    return status(hip_.hipMemset2DAsync(to, pitch, 0, width, rows, stream));
  }
  Status locate(const void* pointer, MemoryPlace& place) override {
    HipPointerAttributes attributes = {};
    const HipError error = hip_.hipPointerGetAttributes(&attributes, pointer);
    place = {};
    if (error == kHipErrorInvalidValue) return hip_.forget_error(), Status::success;
    if (error != kHipSuccess || attributes.device_pointer == nullptr) return status(error);
    place.kind = attributes.is_managed                ? MemoryKind::managed
                 : attributes.host_pointer != nullptr ? MemoryKind::host
                                                      : MemoryKind::device;
    place.device = attributes.device;
    return Status::success;
  }

  Status synchronize_stream(Stream stream) override { return status(hip_.hipStreamSynchronize(stream)); }
  Status is_capturing(Stream stream, bool& capturing) override {
    int state = 0;
    const HipError error = hip_.hipStreamIsCapturing(stream, &state);
    capturing = state != 0;
    return status(error);
  }

  Status load_module(Module* module, const void* code) override { return status(hip_.hipModuleLoadData(module, code)); }
  Status find_function(Function* function, Module module, const char* symbol) override {
    return status(hip_.hipModuleGetFunction(function, module, symbol));
  }
  Status launch(Function function, const LaunchShape& shape, const void* arguments, size_t bytes,
                Stream stream) override {
    if (shape.cluster != Extent{}) return static_cast<Status>(kHipErrorNotSupported);  // no AMD GPU so far has clusters
    void* parameters[] = {const_cast<void*>(arguments)};
    void* buffer[] = {kHipLaunchBuffer, parameters[0], kHipLaunchBufferSize, &bytes, kHipLaunchEnd};
    const bool fields = shape.fields_are_arguments;
    return status(hip_.hipModuleLaunchKernel(function, shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x,
                                             shape.block.y, shape.block.z, shape.dynamic_shared_memory, stream,
                                             fields ? nullptr : parameters, fields ? buffer : nullptr));
  }

  Status create_event(Event* event) override { return status(hip_.hipEventCreate(event)); }
  Status destroy_event(Event event) override { return status(hip_.hipEventDestroy(event)); }
  Status record_event(Event event, Stream stream) override { return status(hip_.hipEventRecord(event, stream)); }
  Status synchronize_event(Event event) override { return status(hip_.hipEventSynchronize(event)); }
  Status elapsed(Event from, Event to, float& milliseconds) override {
    return status(hip_.hipEventElapsedTime(&milliseconds, from, to));
  }

 private:
  Status status(HipError error) const {
    if (error != kHipSuccess) hip_.forget_error();
    return static_cast<Status>(error);
  }

  const Hip hip_;
};

}  // namespace

Driver& hip_driver() {
  static Driver& driver = *new HipDriver;  // never destroyed: calls may come from destructors that run at exit
  return driver;
}

}  // namespace rapt::gpu
