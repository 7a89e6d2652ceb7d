// Any bytes: the reader returns a tensor or throws InputError, and what it accepts survives being written again.
#include <cstdlib>
#include <cstring>
#include <string>

#include "cli/inputs/error.hpp"
#include "cli/io/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rapt::cli;
  try {
    const Array array = read_npy("fuzz.npy", std::as_bytes(std::span(data, size)));
    std::string copy = npy_header("copy.npy", array);
    copy.append(reinterpret_cast<const char*>(array.data()), static_cast<size_t>(array.bytes()));
    const Array again = read_npy("copy.npy", std::as_bytes(std::span(copy)));
    if (again.shape() != array.shape()) std::abort();
    const auto bytes = static_cast<size_t>(array.bytes());  // an empty array has no data
    if (bytes > 0 && std::memcmp(again.data(), array.data(), bytes) != 0) std::abort();
  } catch (const InputError&) {
  }
  return 0;
}
