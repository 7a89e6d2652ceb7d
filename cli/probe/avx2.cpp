#include "cli/probe/fma_loop.hpp"

namespace rapt::cli {

namespace {
using Vector = float __attribute__((vector_size(32)));
}

constexpr PeakLoop kAvx2Fma = fma_peak<Vector>();

}  // namespace rapt::cli
