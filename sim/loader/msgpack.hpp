// MessagePack, the format of code objects' metadata.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>

namespace rapt::sim {

// LoadError if the bytes are not one value, a map has a key twice, or values are nested deeper than 32.
nlohmann::json parse_msgpack(std::span<const std::byte> bytes);

}  // namespace rapt::sim
