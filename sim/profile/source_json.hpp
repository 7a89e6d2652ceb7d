// A place in the source as reports write it.
#pragma once

#include "sim/profile/kernel_code.hpp"

#include <nlohmann/json.hpp>

namespace rapt::sim {

inline nlohmann::ordered_json source_json(const Source& source) {
  using Json = nlohmann::ordered_json;
  return source.file.empty() ? Json(nullptr) : Json{{"file", source.file}, {"line", source.line}};
}

}  // namespace rapt::sim
