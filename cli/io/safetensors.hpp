// The .safetensors format: a JSON header that names each tensor's type, shape and bytes, then the bytes.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/inputs/array.hpp"

namespace rapt::cli {

struct StoredTensor {
  std::string name, type;  // the format's own type name, e.g. "BF16"
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // bytes after the header
};

// Reads and checks a header: every tensor's bytes are inside the file, match its shape, and overlap no other's.
// `bytes` must stay valid. `name` is the file's, for messages. Throws InputError.
class SafeTensors {
 public:
  SafeTensors(std::string name, std::span<const std::byte> bytes);
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const StoredTensor* find(const std::string& tensor) const;
  Array load(const StoredTensor& tensor) const;  // throws InputError for a type that attention does not take

 private:
  void check_layout(uint64_t data_bytes);
  std::string name_;
  std::span<const std::byte> data_;
  std::vector<StoredTensor> tensors_;
};

// The header for these tensors, whose elements must follow in the same order.
std::string safetensors_header(const std::vector<std::pair<std::string, const Array*>>& tensors);

}  // namespace rapt::cli
