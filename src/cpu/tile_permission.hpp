// Whether this process may use AMX's tiles. Linux keeps their state only for processes that ask
// (Documentation/arch/x86/xstate.rst).
#pragma once

#include <string>

namespace rapt::cpu {

// Why the system refuses tiles to a process whose processor has them. `error` is the system's answer, 0 if it permits
// them.
std::string tiles_refused(int error);

}  // namespace rapt::cpu
