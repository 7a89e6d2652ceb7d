// What the compiler's constructors register: fat binaries, their kernels and variables.
#include "sim/hip/abi/launch.hpp"
#include "sim/hip/memory/allocation.hpp"
#include "sim/hip/memory/copy.hpp"
#include "sim/hip/log.hpp"
#include "sim/hip/module/module.hpp"
#include "sim/hip/runtime.hpp"

#include <cstring>
#include <unordered_map>

namespace rapt::sim::hip {

namespace {

// __CudaFatBinaryWrapper, as Clang emits it.
struct Wrapper {
  std::uint32_t magic, version;
  const void* binary;
  void* unused;
};
constexpr std::uint32_t wrapper_magic = 0x48495046;  // "HIPF"

struct Registered {
  std::shared_ptr<Module> module;
  std::string name;
  std::size_t size = 0;
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<void*, std::shared_ptr<Module>> modules;  // by the handle that the program has
  std::unordered_map<const void*, Registered> functions, variables;
};

Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}

Registered find(const std::unordered_map<const void*, Registered>& map, const void* host) {
  const std::lock_guard lock(registry().mutex);
  const auto found = map.find(host);
  return found == map.end() ? Registered{} : found->second;
}

void add(std::unordered_map<const void*, Registered>& map, void** handle, const void* host, const char* name,
         std::size_t size) {
  const std::lock_guard lock(registry().mutex);
  const auto module = registry().modules.find(handle);
  if (module != registry().modules.end() && host != nullptr && name != nullptr)
    map[host] = {module->second, name, size};
}

}  // namespace

std::shared_ptr<Function> find_host_function(const void* host, Device& device) {
  const Registered entry = find(registry().functions, host);
  if (!entry.module) throw Failure(Error::invalid_device_function, "not a registered kernel");
  auto function = entry.module->function(device, entry.name);
  if (!function) throw Failure(Error::invalid_device_function, "the code object has no kernel " + entry.name);
  return function;
}

Variable find_variable(const void* host) {
  const Registered entry = find(registry().variables, host);
  if (!entry.module) throw Failure(Error::invalid_symbol, "not a registered variable");
  const Symbol* symbol = entry.module->variable(current_device(), entry.name);
  if (symbol == nullptr) throw Failure(Error::invalid_symbol, "the code object has no variable " + entry.name);
  return {reinterpret_cast<char*>(symbol->address), symbol->size};
}

char* variable_part(const void* symbol, std::size_t offset, std::size_t bytes) {
  const Variable variable = find_variable(symbol);
  need(offset <= variable.size && bytes <= variable.size - offset, Error::invalid_value, "past the variable's end");
  return variable.address + offset;
}

}  // namespace rapt::sim::hip

using namespace rapt::sim;
using namespace rapt::sim::hip;

// A binary that cannot be used is reported when a function needs it.
RAPT_HIP void** __hipRegisterFatBinary(const void* data) {
  const auto* wrapper = static_cast<const Wrapper*>(data);
  if (wrapper == nullptr || wrapper->magic != wrapper_magic || wrapper->version != 1 || wrapper->binary == nullptr) {
    log("__hipRegisterFatBinary: not a HIP fat binary");
    return nullptr;
  }
  try {
    const auto* bytes = static_cast<const std::byte*>(wrapper->binary);
    auto module = std::make_shared<Module>(std::span(bytes, image_size(bytes)));
    const std::lock_guard lock(registry().mutex);
    auto* handle = reinterpret_cast<void**>(module.get());
    registry().modules[handle] = std::move(module);
    return handle;
  } catch (...) {
    current_failure(__func__);
    return nullptr;
  }
}

RAPT_HIP void __hipUnregisterFatBinary(void** handle) {
  Runtime::get().drain();
  const std::lock_guard lock(registry().mutex);
  const auto module = registry().modules.find(handle);
  if (module == registry().modules.end()) return;
  const auto of_module = [&](const auto& entry) { return entry.second.module == module->second; };
  std::erase_if(registry().functions, of_module);
  std::erase_if(registry().variables, of_module);
  registry().modules.erase(module);
}

RAPT_HIP void __hipRegisterFunction(void** handle, const void* host, char*, const char* name, unsigned, void*, void*,
                                    void*, void*, int*) {
  add(registry().functions, handle, host, name, 0);
}

RAPT_HIP void __hipRegisterVar(void** handle, void* host, char*, char* name, int, std::size_t size, int, int) {
  add(registry().variables, handle, host, name, size);
}

RAPT_HIP void __hipRegisterManagedVar(void* handle, void** pointer, void* initial, const char* name, std::size_t size,
                                      unsigned) {
  if (start() != Error::success || pointer == nullptr || name == nullptr) return;
  try {
    *pointer = allocate_memory(current_device(), size, MemoryKind::managed);
  } catch (...) {
    current_failure(__func__);
    return;
  }
  std::memcpy(*pointer, initial, size);
  Memory::process().mark_written(reinterpret_cast<std::uint64_t>(*pointer), size);
  const std::lock_guard lock(registry().mutex);
  const auto module = registry().modules.find(handle);
  if (module != registry().modules.end()) module->second->add_managed({name, *pointer});
}

// Textures and surfaces are images, which are not supported; programs that only register them run.
RAPT_HIP void __hipRegisterTexture(void**, void*, char*, char*, int, int, int) {}
RAPT_HIP void __hipRegisterSurface(void**, void*, char*, char*, int, int) {}
