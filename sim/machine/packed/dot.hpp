// What dot products of integers and of floats share.
#pragma once

#include "sim/machine/packed/lanes.hpp"

namespace rapt::sim::packed {

// VOP2's and VOPD's dot products have neither op_sel nor neg.
inline bool has_packed_fields(const Instruction& i) { return i.opcode == nullptr || i.opcode->format == Format::vop3p; }

template <unsigned N>
inline void write_lanes(Wave& w, const Instruction& i, const Row<N>& row) {
  valu::write_row<N>(w.row(i.dst), row.data(), i.lane_map == LaneMap::none ? w.exec() : valu::enabled_lanes<N>(w, i));
}

void register_float_dot(HandlerTable& t);  // dot_float.cpp

}  // namespace rapt::sim::packed
