// The pieces of one task's workspace; Pieces(call, scratch) takes them.
#pragma once

#include "base/scratch.hpp"

namespace rapt::math {

template <class Pieces, class Call>
size_t task_bytes(const Call& call) {
  Scratch scratch(nullptr);
  Pieces(call, scratch);
  return scratch.used();
}

template <class Pieces, class Call>
Pieces task_pieces(const Call& call, char* workspace, int64_t task) {
  Scratch scratch(workspace + static_cast<size_t>(task) * task_bytes<Pieces>(call));
  return Pieces(call, scratch);
}

}  // namespace rapt::math
