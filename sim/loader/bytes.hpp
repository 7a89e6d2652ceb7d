// Reads untrusted bytes: every access is checked against the size.
#pragma once

#include "sim/loader/code_object.hpp"

#include <cstring>
#include <string_view>

namespace rapt::sim {

[[noreturn]] inline void broken(const std::string& what) { throw LoadError(LoadError::Kind::invalid, what); }

inline std::string hex(std::uint64_t value) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  do text.insert(text.begin(), digits[value & 15]);
  while ((value >>= 4) != 0);
  return "0x" + text;
}

class Bytes {
 public:
  Bytes(std::span<const std::byte> bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  std::size_t size() const { return bytes_.size(); }

  std::span<const std::byte> part(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      broken(std::string(what_) + ": " + std::to_string(size) + " bytes at " + hex(offset) + " are past the end at " +
             hex(bytes_.size()));
    return bytes_.subspan(offset, size);
  }

  template <typename T>
  T at(std::uint64_t offset) const {
    T value;
    std::memcpy(&value, part(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }

  // The text from offset to the next 0.
  std::string_view text(std::uint64_t offset) const {
    const auto rest = part(offset, bytes_.size() - std::min<std::uint64_t>(offset, bytes_.size()));
    const void* end = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
    if (end == nullptr) broken(std::string(what_) + ": text at " + hex(offset) + " has no end");
    const auto* begin = reinterpret_cast<const char*>(rest.data());
    return {begin, static_cast<const char*>(end)};
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view what_;
};

}  // namespace rapt::sim
