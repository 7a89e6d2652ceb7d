// Any bytes are loaded for some device or refused with a LoadError. The first byte chooses the device.
#include "sim/loader/code_object.hpp"

#include <cstdint>

using namespace rapt::sim;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto arch = static_cast<Arch>(data[0] % arch_count);
  const std::span bytes(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  try {
    std::vector<std::byte> storage;
    const auto object = CodeObject::load(select_code_object(bytes, arch, storage), arch, 0);
    // What was accepted must be readable.
    volatile std::uint32_t sum = 0;
    for (const Kernel& kernel : object->kernels()) sum = sum + *reinterpret_cast<const std::uint8_t*>(kernel.entry);
    for (const Symbol& symbol : object->variables()) {
      sum = sum + *reinterpret_cast<const std::uint8_t*>(symbol.address);
      sum = sum + *reinterpret_cast<const std::uint8_t*>(symbol.address + symbol.size - 1);
    }
  } catch (const LoadError&) {
  }
  return 0;
}
