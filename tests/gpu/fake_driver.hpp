// A driver without a GPU: it records what is launched, computes nothing, and fails where a test says so.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gpu/driver/driver.hpp"

namespace rapt::gpu {

class FakeDriver : public Driver {
 public:
  struct Launched {
    int32_t device;
    std::string symbol;
    LaunchShape shape;
    std::vector<std::byte> arguments;
    Stream stream;
    bool captured;  // the stream was being captured
  };
  static constexpr int kFailure = 77, kOutOfMemory = 2;

  FakeDriver(rapt_device_type type, int32_t devices) : type_(type), devices_(devices) {}
  ~FakeDriver() override;

  std::vector<std::string> calls;     // names of the called functions, in order, without functions that only ask
  std::vector<Launched> launches;     // launches that succeeded
  std::string arch = "gfx942";        // of all devices
  std::string failing, also_failing;  // these functions fail, with...
  int failure = kFailure;             // ... this code
  std::set<Stream> capturing;         // streams that are being captured
  int64_t allocated = 0;              // allocations that are not freed yet
  int located = 0;                    // pointers that it was asked about
  bool in_stream_order = true;        // it can allocate in the order of a stream
  int32_t current() const { return t_current; }

  rapt_device_type type() const override { return type_; }
  const char* name() const override { return "Fake"; }
  const std::string& library() const override { return library_; }
  const std::string& runtime() const override { return library_; }
  std::string describe(Status status) const override;
  bool is_out_of_memory(Status status) const override { return static_cast<int>(status) == kOutOfMemory; }

  int32_t device_count() override { return devices_; }
  DeviceProperties properties(int32_t device) override;
  Status enter(int32_t device, intptr_t& before) override;
  void leave(intptr_t before) override;
  Status synchronize_device() override { return called("synchronize_device"); }

  Status allocate(void** data, size_t bytes) override;
  Status free(void* data) override;
  bool allocates_in_stream_order() const override { return in_stream_order; }
  Status allocate_async(void** data, size_t bytes, Stream) override;
  Status free_async(void* data, Stream) override;
  Status copy(void* to, const void* from, size_t bytes) override;
  Status copy_async(void* to, const void* from, size_t bytes, Stream) override;
  Status clear_async(void* to, size_t pitch, size_t width, size_t rows, Stream) override;
  Status locate(const void* pointer, MemoryPlace& place) override;

  Status synchronize_stream(Stream) override { return called("synchronize_stream"); }
  Status is_capturing(Stream stream, bool& is) override;
  Status load_module(Module* module, const void* code) override;
  Status find_function(Function* function, Module module, const char* symbol) override;
  Status launch(Function, const LaunchShape&, const void* arguments, size_t bytes, Stream) override;

  // The map becomes the layout.
  Status encode_tensor_map(void* map, const TensorLayout& layout) override;

  Status create_event(Event*) override { return called("create_event"); }
  Status destroy_event(Event) override { return called("destroy_event"); }
  Status record_event(Event, Stream) override { return called("record_event"); }
  Status synchronize_event(Event) override { return called("synchronize_event"); }
  Status elapsed(Event, Event, float&) override { return called("elapsed"); }

 private:
  struct Loaded {
    int32_t device;
    std::string symbol;
  };
  struct Block {
    size_t bytes;
    int32_t device;
  };

  Status result(const char* name) const;  // the status of a function that only asks
  Status called(const char* name);        // the status of a function that acts; records it
  Status new_block(const char* name, void** data, size_t bytes);
  Status drop_block(const char* name, void* data);

  static thread_local int32_t t_current;
  const rapt_device_type type_;
  const int32_t devices_;
  const std::string library_ = "no library";
  std::map<const char*, Block> blocks_;
  std::vector<std::unique_ptr<Loaded>> modules_, functions_;
};

}  // namespace rapt::gpu
