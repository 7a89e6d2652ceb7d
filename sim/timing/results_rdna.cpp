// RDNA: a wave may issue in every clock, and an instruction waits until each register that it reads has its value.
// Registers that loads fill are not waited for here: that is s_waitcnt's part. The hint s_delay_alu changes nothing:
// it lets other waves issue meanwhile, and here they always do.
#include "sim/timing/results.hpp"

namespace rapt::sim::timing {
namespace {

class RdnaResults final : public Results {
 public:
  explicit RdnaResults(const Chip& chip) : tail_(chip.matrix_tail_clocks) {}

  Wait wait(const Step& step, Clock now) override {
    if (last_ <= now) return {};
    Wait wait;
    for (unsigned n = 0; n < step.read_count; ++n) raise(wait, step.reads[n]);
    raise(wait, step.accumulator);
    return wait;
  }

  void issued(const Step& step, Clock now) override {
    if (step.port == Port::matrix) return write(step.result, now + step.matrix_clocks + tail_, true);
    if (step.result_clocks == 0) return;
    for (unsigned n = 0; n < step.write_count; ++n) write(step.writes[n], now + step.result_clocks, false);
  }

 private:
  void raise(Wait& wait, Step::Registers registers) const {
    for (unsigned r = registers.first; r < registers.first + registers.count; ++r)
      if (ready_[r] > wait.until) wait = {ready_[r], product_[r] ? Stall::product : Stall::result};
  }

  void write(Step::Registers registers, Clock ready, bool product) {
    last_ = std::max(last_, ready);
    for (unsigned r = registers.first; r < registers.first + registers.count; ++r) {
      ready_[r] = ready;
      product_[r] = product;
    }
  }

  unsigned tail_;
  Clock last_ = 0;  // when all are ready
  std::array<Clock, Step::Registers::all> ready_{};
  std::array<bool, Step::Registers::all> product_{};  // is by a product
};

}  // namespace

std::unique_ptr<Results> rdna_results(const Chip& chip) { return std::make_unique<RdnaResults>(chip); }

}  // namespace rapt::sim::timing
