// Any bytes: the reader throws InputError, or every tensor that it lists can be loaded or has a type that it refuses.
#include <cstdlib>

#include "cli/inputs/error.hpp"
#include "cli/io/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rapt::cli;
  try {
    const SafeTensors file("fuzz.safetensors", std::as_bytes(std::span(data, size)));
    for (const StoredTensor& stored : file.tensors()) {
      if (file.find(stored.name) != &stored) std::abort();
      try {
        const Array array = file.load(stored);
        if (array.bytes() != static_cast<int64_t>(stored.end - stored.begin)) std::abort();
      } catch (const InputError&) {
      }
    }
  } catch (const InputError&) {
  }
  return 0;
}
