// Compiled once per library, with its HIP_MAJOR.
#include "sim/hip/version.hpp"

namespace rapt::sim::hip {

extern const int major = HIP_MAJOR;
// The releases whose headers the layouts are checked against: 5.2, 6.2 and 7.1.
extern const int version = HIP_MAJOR == 5 ? 50221153 : HIP_MAJOR == 6 ? 60241134 : 70125424;

}  // namespace rapt::sim::hip
