#include "sim/check/register_name.hpp"

namespace rapt::sim {

std::string register_name(RegisterFile file, unsigned index) {
  switch (file) {
    case RegisterFile::vgpr: return "v" + std::to_string(index);
    case RegisterFile::agpr: return "a" + std::to_string(index);
    case RegisterFile::scc: return "scc";
    case RegisterFile::sgpr: break;
  }
  switch (index) {
    case sreg::vcc: return "vcc_lo";
    case sreg::vcc + 1: return "vcc_hi";
    case sreg::exec: return "exec_lo";
    case sreg::exec + 1: return "exec_hi";
    case sreg::m0: return "m0";
    default: return "s" + std::to_string(index);
  }
}

}  // namespace rapt::sim
