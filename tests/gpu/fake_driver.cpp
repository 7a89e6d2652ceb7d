#include "fake_driver.hpp"

#include <cstdlib>
#include <cstring>

namespace rapt::gpu {

thread_local int32_t FakeDriver::t_current = 0;

Status FakeDriver::result(const char* name) const {
  return static_cast<Status>(failing == name || also_failing == name ? failure : 0);
}

Status FakeDriver::called(const char* name) {
  calls.emplace_back(name);
  return result(name);
}

std::string FakeDriver::describe(Status status) const {
  return cat("fakeError", static_cast<int>(status), " (as the test asked for)");
}

DeviceProperties FakeDriver::properties(int32_t device) {
  DeviceProperties p;
  p.name = cat("Fake ", device);
  p.target = arch + ":fake";
  p.arch = arch;
  p.compute_units = 10;
  p.memory = 1 << 20;
  return p;
}

Status FakeDriver::enter(int32_t device, intptr_t& before) {
  if (const Status status = result("enter"); status != Status::success) return status;
  if (device != t_current) before = t_current;
  t_current = device;
  return Status::success;
}

void FakeDriver::leave(intptr_t before) { t_current = static_cast<int32_t>(before); }

FakeDriver::~FakeDriver() {
  for (const auto& [data, block] : blocks_) std::free(const_cast<char*>(data));  // memory that it failed to free
}

Status FakeDriver::new_block(const char* name, void** data, size_t bytes) {
  if (const Status status = called(name); status != Status::success) return status;
  *data = std::malloc(bytes);
  blocks_[static_cast<const char*>(*data)] = {bytes, t_current};
  ++allocated;
  return Status::success;
}

Status FakeDriver::drop_block(const char* name, void* data) {
  if (const Status status = called(name); status != Status::success) return status;
  if (blocks_.erase(static_cast<const char*>(data)) == 0) return static_cast<Status>(1);
  std::free(data);
  --allocated;
  return Status::success;
}

Status FakeDriver::allocate(void** data, size_t bytes) { return new_block("allocate", data, bytes); }
Status FakeDriver::free(void* data) { return drop_block("free", data); }
Status FakeDriver::allocate_async(void** data, size_t bytes, Stream) {
  return new_block("allocate_async", data, bytes);
}
Status FakeDriver::free_async(void* data, Stream) { return drop_block("free_async", data); }

Status FakeDriver::copy(void* to, const void* from, size_t bytes) {
  const Status status = called("copy");
  if (status == Status::success) std::memcpy(to, from, bytes);
  return status;
}

Status FakeDriver::copy_async(void* to, const void* from, size_t bytes, Stream) {
  const Status status = called("copy_async");
  if (status == Status::success) std::memcpy(to, from, bytes);
  return status;
}

Status FakeDriver::clear_async(void* to, size_t pitch, size_t width, size_t rows, Stream) {
  const Status status = called("clear_async");
  for (size_t row = 0; status == Status::success && row < rows; ++row)
    std::memset(static_cast<char*>(to) + row * pitch, 0, width);
  return status;
}

Status FakeDriver::locate(const void* pointer, MemoryPlace& place) {
  place = {};
  const auto* const at = static_cast<const char*>(pointer);
  auto after = blocks_.upper_bound(at);
  if (after != blocks_.begin()) {
    const auto& [begin, block] = *--after;
    if (at < begin + block.bytes)
      place = {MemoryKind::device, block.device, reinterpret_cast<uintptr_t>(begin), block.bytes};
  }
  ++located;
  return result("locate");
}

Status FakeDriver::is_capturing(Stream stream, bool& is) {
  is = capturing.contains(stream);
  return result("is_capturing");
}

Status FakeDriver::load_module(Module* module, const void*) {
  if (const Status status = called("load_module"); status != Status::success) return status;
  *module = modules_.emplace_back(std::make_unique<Loaded>(t_current, "")).get();
  return Status::success;
}

Status FakeDriver::find_function(Function* function, Module module, const char* symbol) {
  if (const Status status = result("find_function"); status != Status::success) return status;
  const int32_t device = static_cast<const Loaded*>(module)->device;
  *function = functions_.emplace_back(std::make_unique<Loaded>(device, symbol)).get();
  return Status::success;
}

Status FakeDriver::launch(Function function, const LaunchShape& shape, const void* arguments, size_t bytes,
                          Stream stream) {
  if (const Status status = called("launch"); status != Status::success) return status;
  const auto& [device, symbol] = *static_cast<const Loaded*>(function);
  if (device != t_current) return static_cast<Status>(1);  // a function of another device's module
  const auto* const first = static_cast<const std::byte*>(arguments);
  launches.push_back({device, symbol, shape, {first, first + bytes}, stream, capturing.contains(stream)});
  return Status::success;
}

Status FakeDriver::encode_tensor_map(void* map, const TensorLayout& layout) {
  static_assert(sizeof layout <= 128);
  // As CUDA's driver refuses it.
  if (layout.batch < 1 || layout.heads < 1 || layout.rows < 1 || layout.columns < 1) return static_cast<Status>(1);
  std::memcpy(map, &layout, sizeof layout);
  return result("encode_tensor_map");
}

}  // namespace rapt::gpu
