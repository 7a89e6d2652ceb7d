#include "cpu/tile_permission.hpp"

#include <cerrno>
#include <cstring>

#include "base/text.hpp"

namespace rapt::cpu {

std::string tiles_refused(int error) {
  if (error == 0) return "";
  const char* why = std::strerror(error);
  if (error == EINVAL || error == EOPNOTSUPP || error == ENOSYS)
    why = "the kernel or the virtual machine has no support";
  if (error == ENOSPC) why = "a signal stack of the process is too small for their state";
  return cat("the processor has AMX, but the system refuses its tiles: ", why);
}

}  // namespace rapt::cpu
