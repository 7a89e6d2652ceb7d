// Tensors in files, of either format.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/inputs/array.hpp"

namespace rapt::cli {

// FILE.npy, FILE.safetensors, or FILE.safetensors:TENSOR. Without a name, the tensor called `role` is read, or the
// only one that the file has.
Array load_tensor(const std::string& spec, const std::string& role);

// The named tensor of a .safetensors file.
Array load_named(const std::string& path, const std::string& tensor);

// The file of FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR.
std::string file_of(const std::string& spec);

// Where save_tensors writes tensors of these names: to one .safetensors file, or if the path ends in .npy, the first
// there and each other one to FILE.NAME.npy. Throws InputError for another ending.
std::vector<std::string> output_paths(const std::string& path, const std::vector<std::string>& names);

// Atomic for each file, and no file is replaced before all are completely on disk. Returns the paths written.
std::vector<std::string> save_tensors(const std::string& path,
                                      const std::vector<std::pair<std::string, const Array*>>& tensors);

}  // namespace rapt::cli
