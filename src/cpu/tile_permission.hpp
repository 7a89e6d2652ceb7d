// Whether this process may use AMX's tiles, whose state Linux keeps only for those that ask
// (Documentation/arch/x86/xstate.rst).
#pragma once

#include <string>

namespace rapt::cpu {

// Why the system refuses tiles to a process whose processor has them; error: of its answer, 0 for a permission.
std::string tiles_refused(int error);

}  // namespace rapt::cpu
