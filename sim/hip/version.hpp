// What differs between the three libraries, which share all other objects.
#pragma once

namespace rapt::sim::hip {

extern const int major;    // 5, 6 or 7
extern const int version;  // as hipRuntimeGetVersion returns it: major * 10000000 + minor * 100000 + patch

}  // namespace rapt::sim::hip
