#include "cli/probe/fma_loop.hpp"

namespace rapt::cli {

namespace {
using Vector = float __attribute__((vector_size(16)));
}

constexpr PeakLoop kPortableFma = fma_peak<Vector>();

}  // namespace rapt::cli
