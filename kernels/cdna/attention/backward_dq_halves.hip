// Like backward_dq_pipelined.hip, where LDS has room for one tile of each kind (backward_halves.hpp).
#include "kernels/cdna/attention/backward_dq_core.hpp"
#include "kernels/cdna/attention/backward_halves.hpp"

namespace rapt::amd {

struct QueryHalves : Halves<QuerySchedule, true, State, NoSource> {
  DEVICE_MEMBER QueryHalves(const QuerySchedule& query, State& state) : Halves(query, query.over, state, {}) {}
};

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(256))) static char lds[QueryHalves::kLdsBytes];
  run_until_finite<T, backward_dq<QueryHalves>>(lds);
}
