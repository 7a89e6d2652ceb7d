// The way of a unit's vector memory operations: address unit and L1 of a compute unit, then the unit's share of what it
// shares with the others. Each is a queue that a request occupies for its bytes over the rate; latencies are added to
// that.
#pragma once

#include "sim/timing/cache.hpp"
#include "sim/timing/service.hpp"

namespace rapt::sim::timing {

using Clock = std::uint64_t;

// Bytes per clock of one unit, if all units that are busy want as much as they can get.
struct Shares {
  double array, l2, last, memory;
  double last_clocks, memory_clocks;  // latencies
};
Shares shares_of(const Chip& chip, double clock_mhz, double busy_units, double busy_units_of_die);

class MemoryPath {
 public:
  MemoryPath(const Chip& chip, const Shares& shares, Service& service);
  void share(const Shares& shares);  // from now on

  // The latency of a scalar load that must see what all units wrote, on every die.
  Clock coherent_clocks() const { return chip_.dies > 1 ? static_cast<Clock>(last_clocks_) : chip_.l2_clocks; }
  // When the address unit of a compute unit can take another instruction; a few may wait for it.
  Clock accepts(unsigned compute_unit) const;
  // Takes the request at `at`; returns when its data has arrived, or its stores are acknowledged.
  Clock take(unsigned compute_unit, const WaveTrace& wave, const Request& request, std::uint32_t slot, const Step& step,
             Clock at);
  Clock ended() const { return ended_; }                 // when that will be true of all that was taken
  double memory_busy() const { return memory_.busy(); }  // clocks in which the unit's share of the bandwidth was in use

 private:
  class Queue {
   public:
    explicit Queue(double bytes_per_clock) : clocks_per_byte_(1 / bytes_per_clock) {}
    void rate(double bytes_per_clock) { clocks_per_byte_ = 1 / bytes_per_clock; }
    // When `bytes` that come at `at` have passed.
    double pass(double at, double bytes) {
      busy_ += bytes * clocks_per_byte_;
      return free_ = std::max(free_, at) + bytes * clocks_per_byte_;
    }
    double busy() const { return busy_; }

   private:
    double clocks_per_byte_, free_ = 0, busy_ = 0;
  };

  struct ComputeUnit {
    Cache l1;
    std::vector<double> misses;  // when the last ones that it had room for were there, as a ring
    std::size_t oldest_miss = 0;
    double address_free = 0;
  };

  double load(ComputeUnit& unit, std::uint64_t line, std::uint32_t slot, const Step& step, double& at);
  double beyond_l1(std::uint32_t slot, const Step& step, double at);

  const Chip& chip_;
  Service& service_;
  std::vector<ComputeUnit> compute_units_;
  Queue array_, l2_, last_, memory_;
  double last_clocks_, memory_clocks_;
  Clock ended_ = 0;
};

}  // namespace rapt::sim::timing
