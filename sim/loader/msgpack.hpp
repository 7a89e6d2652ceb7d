// MessagePack, as much of it as code object metadata may have (msgpack.org, specification).
#pragma once

#include "sim/loader/bytes.hpp"

#include <map>
#include <variant>

namespace rapt::sim {

struct Value;
using ValueList = std::vector<Value>;
using ValueMap = std::map<std::string, Value, std::less<>>;

struct Value {
  std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string, ValueList, ValueMap> data;

  const ValueMap& map(std::string_view what) const;
  const ValueList& list(std::string_view what) const;
  const std::string& text(std::string_view what) const;
  std::uint64_t number(std::string_view what) const;
  bool flag(std::string_view what) const;
};

// LoadError where the bytes are not one value, or nested deeper than 32.
Value parse_msgpack(std::span<const std::byte> bytes);

const Value* find(const ValueMap& map, std::string_view key);
const Value& need(const ValueMap& map, std::string_view key);

}  // namespace rapt::sim
