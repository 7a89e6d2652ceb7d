// CDNA: a SIMD comes back to a wave after four clocks, when the result of a vector instruction is there. Only products
// take longer.
#include "sim/timing/results.hpp"

namespace rapt::sim::timing {
namespace {

class CdnaResults final : public Results {
 public:
  explicit CdnaResults(const Chip& chip) : tail_(chip.matrix_tail_clocks) {}

  Wait wait(const Step& step, Clock now) override {
    std::erase_if(products_, [now](const Product& p) { return p.done <= now; });
    for (const Product& p : products_)
      if (const Clock until = needs(step, p); until > now) return {until, Stall::product};
    return {};
  }

  void issued(const Step& step, Clock now) override {
    if (step.port != Port::matrix) return;
    const Clock end = now + step.matrix_clocks;
    products_.push_back({step.result, end + tail_, end});
  }

 private:
  struct Product {
    Step::Registers result;
    Clock done, accumulated;  // when others may read the result; when a product may add to it
  };

  static Clock needs(const Step& step, const Product& p) {
    for (unsigned n = 0; n < step.read_count; ++n)
      if (step.reads[n].overlaps(p.result)) return p.done;
    for (unsigned n = 0; n < step.write_count; ++n)
      if (step.writes[n].overlaps(p.result)) return p.done;
    if (step.port != Port::matrix) return 0;
    if (step.accumulator == p.result || step.result == p.result) return p.accumulated;
    return step.accumulator.overlaps(p.result) || step.result.overlaps(p.result) ? p.done : 0;
  }

  unsigned tail_;
  std::vector<Product> products_;
};

}  // namespace

std::unique_ptr<Results> cdna_results(const Chip& chip) { return std::make_unique<CdnaResults>(chip); }

}  // namespace rapt::sim::timing
