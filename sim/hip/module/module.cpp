#include "sim/hip/module/module.hpp"

#include "sim/hip/graph/capture.hpp"
#include "sim/hip/handles.hpp"
#include "sim/hip/runtime.hpp"
#include "sim/memory/memory.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace rapt::sim::hip {

Module::~Module() {
  for (const auto& [key, function] : functions_) handles<Function>().remove(function.get());
}

std::shared_ptr<CodeObject> Module::load(Device& device) {
  auto& object = objects_[device.id];
  if (object) return object;
  std::vector<std::byte> storage;
  object = CodeObject::load(select_code_object(bytes_, device.arch, storage), device.arch, device.id);
  for (const auto& symbol : object->variables()) {
    const auto managed = std::find_if(managed_.begin(), managed_.end(),
                                      [&](const ManagedVariable& variable) { return variable.name == symbol.name; });
    if (managed == managed_.end() || symbol.size < sizeof(void*)) continue;
    std::memcpy(reinterpret_cast<void*>(symbol.address), &managed->memory, sizeof(void*));
  }
  return object;
}

std::shared_ptr<CodeObject> Module::object(Device& device) {
  const std::lock_guard lock(mutex_);
  return load(device);
}

std::shared_ptr<Function> Module::function(Device& device, const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto& function = functions_[{device.id, name}];
  if (function) return function;
  const auto object = load(device);
  for (const Kernel& kernel : object->kernels())
    if (kernel.name == name) {
      function = std::make_shared<Function>(object, kernel, device.id);
      handles<Function>().add(function);
      return function;
    }
  functions_.erase({device.id, name});
  return nullptr;
}

const Symbol* Module::variable(Device& device, const std::string& name) {
  const auto code = object(device);
  for (const Symbol& symbol : code->variables())
    if (symbol.name == name) return &symbol;
  return nullptr;
}

void Module::add_managed(ManagedVariable variable) {
  const std::lock_guard lock(mutex_);
  managed_.push_back(std::move(variable));
}

std::shared_ptr<Function> find_function(FunctionHandle handle) {
  return handles<Function>().need(handle, Error::invalid_handle, "no such function");
}

}  // namespace rapt::sim::hip

using namespace rapt::sim;
using namespace rapt::sim::hip;

namespace {

Error load(const char* function, ModuleHandle* module, const void* image) {
  return api(function, [&] {
    need_pointer(module);
    need_pointer(image);
    refuse_capture();
    const auto* bytes = static_cast<const std::byte*>(image);
    auto loaded = std::make_shared<Module>(std::vector<std::byte>(bytes, bytes + image_size(image)));
    loaded->object(current_device());
    *module = handles<Module>().add(std::move(loaded));
    return Error::success;
  });
}

std::shared_ptr<Module> find_module(ModuleHandle module) {
  return handles<Module>().need(module, Error::invalid_handle, "no such module");
}

}  // namespace

RAPT_HIP Error hipModuleLoad(ModuleHandle* module, const char* path) {
  return api(__func__, [&] {
    need_pointer(module);
    need_pointer(path);
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Failure(Error::file_not_found, std::string(path) + " cannot be opened");
    const std::vector<char> text(std::istreambuf_iterator<char>(file), {});
    std::vector<std::byte> bytes(text.size());
    if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
    auto loaded = std::make_shared<Module>(std::move(bytes));
    loaded->object(current_device());
    *module = handles<Module>().add(std::move(loaded));
    return Error::success;
  });
}

RAPT_HIP Error hipModuleLoadData(ModuleHandle* module, const void* image) { return load(__func__, module, image); }

// The options are for compilers of PTX.
RAPT_HIP Error hipModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned, void*, void**) {
  return load(__func__, module, image);
}

RAPT_HIP Error hipModuleLoadFatBinary(ModuleHandle* module, const void* image) { return load(__func__, module, image); }

RAPT_HIP Error hipModuleUnload(ModuleHandle module) {
  return api(__func__, [&] {
    const auto removed = find_module(module);
    for (const auto& device : Runtime::get().devices()) static_cast<void>(device->synchronize());
    handles<Module>().remove(module);
    return Error::success;
  });
}

RAPT_HIP Error hipModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  return api(__func__, [&] {
    need_pointer(function);
    need(name != nullptr && *name != 0, Error::invalid_value, "no name");
    const auto found = find_module(module)->function(current_device(), name);
    if (!found) throw Failure(Error::not_found, "no kernel is called " + std::string(name));
    *function = found.get();
    return Error::success;
  });
}

RAPT_HIP Error hipModuleGetFunctionCount(unsigned* count, ModuleHandle module) {
  return api(__func__, [&] {
    need_pointer(count);
    *count = static_cast<unsigned>(find_module(module)->object(current_device())->kernels().size());
    return Error::success;
  });
}

RAPT_HIP Error hipModuleGetGlobal(void** pointer, std::size_t* size, ModuleHandle module, const char* name) {
  return api(__func__, [&] {
    need(pointer != nullptr || size != nullptr, Error::invalid_value, "nothing to write to");
    need(name != nullptr && *name != 0, Error::invalid_value, "no name");
    const Symbol* symbol = find_module(module)->variable(current_device(), name);
    if (symbol == nullptr) throw Failure(Error::not_found, "no variable is called " + std::string(name));
    if (pointer != nullptr) *pointer = reinterpret_cast<void*>(symbol->address);
    if (size != nullptr) *size = symbol->size;
    return Error::success;
  });
}
