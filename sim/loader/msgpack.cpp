#include "sim/loader/msgpack.hpp"

#include <bit>

namespace rapt::sim {

namespace {

template <typename T>
const T& get(const Value& value, std::string_view what, const char* kind) {
  const T* found = std::get_if<T>(&value.data);
  if (found == nullptr) broken("metadata: " + std::string(what) + " is not " + kind);
  return *found;
}

class Parser {
 public:
  explicit Parser(std::span<const std::byte> bytes) : bytes_(bytes, "metadata") {}

  Value value() {
    if (depth_ > 32) broken("metadata is nested too deep");
    const auto code = static_cast<unsigned>(big_endian(1));
    if (code < 0x80) return {std::uint64_t{code}};
    if (code < 0x90) return map(code & 15);
    if (code < 0xa0) return list(code & 15);
    if (code < 0xc0) return {text(code & 31)};
    if (code >= 0xe0) return {std::int64_t{static_cast<std::int8_t>(code)}};
    switch (code) {
      case 0xc0: return {};
      case 0xc2: return {false};
      case 0xc3: return {true};
      case 0xc4:
      case 0xd9: return {text(big_endian(1))};
      case 0xc5:
      case 0xda: return {text(big_endian(2))};
      case 0xc6:
      case 0xdb: return {text(big_endian(4))};
      case 0xca: return {double{std::bit_cast<float>(static_cast<std::uint32_t>(big_endian(4)))}};
      case 0xcb: return {std::bit_cast<double>(big_endian(8))};
      case 0xcc: return {big_endian(1)};
      case 0xcd: return {big_endian(2)};
      case 0xce: return {big_endian(4)};
      case 0xcf: return {big_endian(8)};
      case 0xd0: return {std::int64_t{static_cast<std::int8_t>(big_endian(1))}};
      case 0xd1: return {std::int64_t{static_cast<std::int16_t>(big_endian(2))}};
      case 0xd2: return {std::int64_t{static_cast<std::int32_t>(big_endian(4))}};
      case 0xd3: return {static_cast<std::int64_t>(big_endian(8))};
      case 0xdc: return list(big_endian(2));
      case 0xdd: return list(big_endian(4));
      case 0xde: return map(big_endian(2));
      case 0xdf: return map(big_endian(4));
      default: broken("metadata: byte " + hex(code) + " begins no value");
    }
  }

 private:
  std::uint64_t big_endian(unsigned bytes) {
    std::uint64_t value = 0;
    for (const std::byte b : bytes_.part(at_, bytes)) value = value << 8 | static_cast<std::uint64_t>(b);
    at_ += bytes;
    return value;
  }

  std::string text(std::uint64_t size) {
    const auto part = bytes_.part(at_, size);
    at_ += size;
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

  // Counts are not trusted: nothing is reserved, every element takes a byte of the input at least.
  Value list(std::uint64_t count) {
    depth_++;
    ValueList list;
    for (std::uint64_t i = 0; i < count; i++) list.push_back(value());
    depth_--;
    return {std::move(list)};
  }

  Value map(std::uint64_t count) {
    depth_++;
    ValueMap map;
    for (std::uint64_t i = 0; i < count; i++) {
      std::string key = value().text("key");
      if (!map.emplace(key, value()).second) broken("metadata: " + key + " is there twice");
    }
    depth_--;
    return {std::move(map)};
  }

  Bytes bytes_;
  std::uint64_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

const ValueMap& Value::map(std::string_view what) const { return get<ValueMap>(*this, what, "a map"); }
const ValueList& Value::list(std::string_view what) const { return get<ValueList>(*this, what, "a list"); }
const std::string& Value::text(std::string_view what) const { return get<std::string>(*this, what, "text"); }

std::uint64_t Value::number(std::string_view what) const {
  return get<std::uint64_t>(*this, what, "a number of 0 or more");
}

// Older compilers write flags as numbers.
bool Value::flag(std::string_view what) const {
  if (const bool* flag = std::get_if<bool>(&data)) return *flag;
  return number(what) != 0;
}

Value parse_msgpack(std::span<const std::byte> bytes) { return Parser(bytes).value(); }

const Value* find(const ValueMap& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

const Value& need(const ValueMap& map, std::string_view key) {
  const Value* value = find(map, key);
  if (value == nullptr) broken("metadata: " + std::string(key) + " is missing");
  return *value;
}

}  // namespace rapt::sim
