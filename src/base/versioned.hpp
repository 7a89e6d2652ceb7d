// Structs of the C ABI begin with their size: the caller's may be older or newer than the library's.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rapt {

// The caller's struct, extended with zeros to the size this library knows. A caller newer than the library may use a
// larger struct as long as the part unknown here is zero.
template <class Struct>
Struct read_versioned(const char* name, const Struct* given) {
  Struct known;
  std::memset(&known, 0, sizeof known);
  if (given == nullptr) throw Error(RAPT_INVALID_ARGUMENT, cat(name, " is null"));
  const size_t size = given->struct_size;
  if (size <= sizeof(size_t) || size > 65536)
    throw Error(RAPT_INVALID_ARGUMENT, cat(name, ".struct_size is ", static_cast<uint64_t>(size),
                                           ", must be sizeof the struct, ", static_cast<uint64_t>(sizeof(Struct))));
  const char* bytes = reinterpret_cast<const char*>(given);
  for (size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i] != 0)
      throw Error(RAPT_UNSUPPORTED, cat(name, " uses fields of a newer Rapt than ", RAPT_VERSION_MAJOR, ".",
                                        RAPT_VERSION_MINOR, ".", RAPT_VERSION_PATCH));
  std::memcpy(&known, given, std::min(size, sizeof(Struct)));
  return known;
}

// Copies `known` to the caller's struct, which may be older or newer, and cuts it to that struct's size.
template <class Struct>
void write_versioned(const char* name, Struct* to, Struct known) {
  const size_t size = to->struct_size;
  if (size <= sizeof(size_t))
    throw Error(RAPT_INVALID_ARGUMENT, cat(name, ".struct_size is ", static_cast<uint64_t>(size),
                                           ", must be sizeof the struct, ", static_cast<uint64_t>(sizeof(Struct))));
  known.struct_size = size;
  std::memcpy(to, &known, std::min(size, sizeof known));
}

}  // namespace rapt
