#include "cli/probe/fma_loop.hpp"

namespace rapt::cli {

namespace {
using Vector = float __attribute__((vector_size(64)));
}

constexpr PeakLoop kAvx512Fma = fma_peak<Vector>();

}  // namespace rapt::cli
