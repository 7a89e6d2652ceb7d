#include "sim/isa/gfx9/print.hpp"
namespace rapt::sim::gfx9 {
std::string print(DecodeMode, const Instruction& i) { return std::string(i.opcode->name); }
}  // namespace rapt::sim::gfx9
