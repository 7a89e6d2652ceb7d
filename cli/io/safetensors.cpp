#include "cli/io/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cli/inputs/dtype.hpp"
#include "cli/inputs/error.hpp"

namespace rapt::cli {

namespace {

constexpr uint64_t kMostHeader = 100'000'000;  // bytes; the format's own limit
constexpr size_t kMostDimensions = 8;

struct TypeName {
  const char* name;
  int64_t bytes;
  std::optional<rapt_dtype> dtype;
};
const TypeName kTypes[] = {
    {"F16", 2, kFp16},  {"BF16", 2, kBf16}, {"F32", 4, kFp32}, {"F64", 8, kFp64},  {"I32", 4, kInt32},
    {"BOOL", 1, kBool}, {"U8", 1, kUint8},  {"I8", 1, {}},     {"F8_E4M3", 1, {}}, {"F8_E5M2", 1, {}},
    {"I16", 2, {}},     {"U16", 2, {}},     {"U32", 4, {}},    {"I64", 8, {}},     {"U64", 8, {}},
};

const TypeName* find_type(const std::string& name) {
  const auto it = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeName& t) { return name == t.name; });
  return it == std::end(kTypes) ? nullptr : it;
}

// Receives the header's JSON piece by piece and allows only the format's own shape:
// {"name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, ..., "__metadata__": {"key": "text"}}
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<StoredTensor> tensors;
  std::string problem;

  bool start_object(size_t) override {
    if (++depth_ > 2 || in_array_) return refuse("nests deeper than the format does");
    seen_fields_.clear();
    if (depth_ == 2 && !metadata_) tensors.push_back({key_, {}, {}, 0, 0});
    return true;
  }
  bool end_object() override {
    if (depth_-- < 2) return true;
    const bool complete = metadata_ || seen_fields_.size() == 3;
    return complete ? true : refuse("lacks dtype, shape or data_offsets");
  }
  bool key(std::string& name) override {
    if (depth_ == 1) {
      key_ = name;
      metadata_ = name == "__metadata__";
      return names_.insert(name).second ? true : refuse("comes twice");
    }
    field_ = name;
    if (!metadata_ && name != "dtype" && name != "shape" && name != "data_offsets")
      return refuse("has a field other than dtype, shape and data_offsets");
    return seen_fields_.insert(name).second ? true : refuse("has a field twice");
  }
  bool start_array(size_t) override {
    if (depth_ != 2 || metadata_ || in_array_ || field_ == "dtype") return refuse("has a list where none belongs");
    in_array_ = true;
    numbers_.clear();
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    if (field_ == "shape") {
      tensors.back().shape = numbers_;
      return true;
    }
    if (numbers_.size() != 2) return refuse("needs two data_offsets");
    tensors.back().begin = static_cast<uint64_t>(numbers_[0]);
    tensors.back().end = static_cast<uint64_t>(numbers_[1]);
    return true;
  }
  bool number_unsigned(uint64_t value) override {
    if (!in_array_) return refuse("has a number where none belongs");
    if (value > INT64_MAX) return refuse("has a number beyond 63 bits");
    if (numbers_.size() == kMostDimensions) return refuse(fmt::format("has more than {} dimensions", kMostDimensions));
    numbers_.push_back(static_cast<int64_t>(value));
    return true;
  }
  bool string(std::string& value) override {
    if (depth_ == 2 && metadata_) return true;
    if (depth_ != 2 || in_array_ || field_ != "dtype") return refuse("has a string where none belongs");
    tensors.back().type = value;
    return true;
  }
  bool null() override { return refuse("has a null"); }
  bool boolean(bool) override { return refuse("has a boolean"); }
  bool number_integer(int64_t) override { return refuse("has a negative number"); }
  bool number_float(double, const std::string&) override { return refuse("has a number that is not a 64-bit integer"); }
  bool binary(nlohmann::json::binary_t&) override { return refuse("has binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    problem = fmt::format("its header is not valid JSON, at byte {}", position);
    return false;
  }

 private:
  bool refuse(const std::string& what) {
    problem = depth_ == 0 ? "its header is not a JSON object" : fmt::format("tensor '{:.80}' {}", key_, what);
    return false;
  }

  int depth_ = 0;
  bool in_array_ = false, metadata_ = false;
  std::string key_, field_;
  std::set<std::string> names_, seen_fields_;
  std::vector<int64_t> numbers_;
};

}  // namespace

SafeTensors::SafeTensors(std::string name, std::span<const std::byte> bytes) : name_(std::move(name)) {
  const auto fail = [&](const std::string& what) { throw InputError(fmt::format("{}: {}", name_, what)); };
  if (bytes.size() < 8) fail("truncated: a .safetensors file begins with 8 bytes of header length");
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<uint64_t>(bytes[static_cast<size_t>(i)]);
  if (length > bytes.size() - 8)
    fail(fmt::format("truncated, or not a .safetensors file: its header claims {} bytes, {} are left", length,
                     bytes.size() - 8));
  if (length > kMostHeader) fail(fmt::format("its header of {} bytes exceeds the format's {}", length, kMostHeader));
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + 8;
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(text, text + length, &reader)) fail(reader.problem);
  tensors_ = std::move(reader.tensors);
  data_ = bytes.subspan(8 + length);
  check_layout(data_.size());
}

void SafeTensors::check_layout(uint64_t data_bytes) {
  std::vector<const StoredTensor*> order;
  for (const StoredTensor& t : tensors_) {
    const auto fail = [&](const std::string& what) {
      throw InputError(fmt::format("{}: tensor '{:.80}' {}", name_, t.name, what));
    };
    const TypeName* type = find_type(t.type);
    if (!type) fail(fmt::format("has the unknown type '{:.20}'", t.type));
    int64_t expected = type->bytes;
    bool overflow = false;
    for (const int64_t d : t.shape) overflow |= __builtin_mul_overflow(expected, d, &expected);
    if (overflow) fail(fmt::format("has shape {}, which exceeds 64 bits", shape_text(t.shape)));
    if (t.begin > t.end || t.end > data_bytes)
      fail(fmt::format("has data_offsets {} to {}, outside of the {} bytes in the file", t.begin, t.end, data_bytes));
    if (t.end - t.begin != static_cast<uint64_t>(expected))
      fail(fmt::format("has {} bytes, its shape {} of {} needs {}", t.end - t.begin, shape_text(t.shape), t.type,
                       expected));
    order.push_back(&t);
  }
  std::sort(order.begin(), order.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t at = 0;
  for (const StoredTensor* t : order) {
    if (t->begin != at)
      throw InputError(fmt::format("{}: tensor '{:.80}' begins at byte {}, {} byte {}", name_, t->name, t->begin,
                                   t->begin < at ? "overlapping one that ends at" : "leaving a hole from", at));
    at = t->end;
  }
  if (at != data_bytes) throw InputError(fmt::format("{}: {} bytes follow the last tensor", name_, data_bytes - at));
}

const StoredTensor* SafeTensors::find(const std::string& tensor) const {
  const auto it =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const StoredTensor& t) { return t.name == tensor; });
  return it == tensors_.end() ? nullptr : &*it;
}

Array SafeTensors::load(const StoredTensor& tensor) const {
  const TypeName* type = find_type(tensor.type);
  if (!type->dtype)
    throw InputError(fmt::format("{}: tensor '{:.80}' is {}; use F16, BF16, F32, F64, I32, BOOL or U8", name_,
                                 tensor.name, tensor.type));
  Array array(*type->dtype, tensor.shape);
  if (array.bytes() > 0) std::memcpy(array.data(), data_.data() + tensor.begin, static_cast<size_t>(array.bytes()));
  return array;
}

std::string safetensors_header(const std::vector<std::pair<std::string, const Array*>>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  int64_t at = 0;
  for (const auto& [name, array] : tensors) {
    const auto type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const TypeName& t) { return t.dtype && same(*t.dtype, array->dtype()); });
    header[name] = {{"dtype", type->name}, {"shape", array->shape()}, {"data_offsets", {at, at + array->bytes()}}};
    at += array->bytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data that follow are aligned
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> 8 * i & 255);
  return length + text;
}

}  // namespace rapt::cli
