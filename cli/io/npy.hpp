// NumPy's .npy files: versions 1 to 3, little endian, C order, and the types that attention takes.
#pragma once

#include <span>
#include <string>

#include "cli/inputs/array.hpp"

namespace rapt::cli {

// `name` is the file's, for messages. Throws InputError for anything but a complete, exact file.
Array read_npy(const std::string& name, std::span<const std::byte> bytes);

// The header before the elements. Throws InputError for bf16, which the format lacks.
std::string npy_header(const std::string& name, const Array& array);

}  // namespace rapt::cli
