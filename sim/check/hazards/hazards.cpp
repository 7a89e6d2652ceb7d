// Results used within the window in which the hardware neither waits for them nor forwards them.
#include "sim/check/checks.hpp"
#include "sim/check/hazards/cdna.hpp"
#include "sim/check/hazards/rdna.hpp"

namespace rapt::sim {
namespace {

template <typename Hazards>
class HazardCheck final : public Observer {
 public:
  explicit HazardCheck(const Workgroup& group) {
    for (const Wave& wave : group.waves) waves_.emplace_back(wave);
  }
  void before(Wave& wave, const Entry& entry) override { waves_[wave.index].step(entry); }

 private:
  std::vector<Hazards> waves_;
};

}  // namespace

std::unique_ptr<Observer> make_hazard_check(Workgroup& group) {
  if (is_cdna(group.waves[0].arch)) return std::make_unique<HazardCheck<CdnaHazards>>(group);
  return std::make_unique<HazardCheck<RdnaHazards>>(group);
}

}  // namespace rapt::sim
