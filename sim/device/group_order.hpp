// The order in which a launch's workgroups start.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace rapt::sim {

class GroupOrder {
 public:
  // The workgroups of the whole grid, or `some` of them by number. Each seed other than 0 gives another order.
  GroupOrder(const std::array<std::uint32_t, 3>& groups, std::vector<std::uint64_t> some, std::uint64_t seed)
      : groups_(groups), some_(std::move(some)) {
    total_ = some_.empty() ? std::uint64_t{groups[0]} * groups[1] * groups[2] : some_.size();
    if (seed == 0 || total_ < 2) return;
    start_ = seed % total_;
    stride_ = seed / total_ % total_ | 1;
    while (std::gcd(stride_, total_) != 1) stride_ = stride_ % total_ + 1;
  }
  std::uint64_t total() const { return total_; }
  // The number in the grid, x first, of the n-th workgroup that starts.
  std::uint64_t number(std::uint64_t n) const {
    const auto place = static_cast<std::uint64_t>((static_cast<unsigned __int128>(n) * stride_ + start_) % total_);
    return some_.empty() ? place : some_[place];
  }
  std::array<std::uint32_t, 3> place(std::uint64_t number) const {
    const std::uint64_t row = number / groups_[0];
    return {static_cast<std::uint32_t>(number % groups_[0]), static_cast<std::uint32_t>(row % groups_[1]),
            static_cast<std::uint32_t>(row / groups_[1])};
  }

 private:
  std::array<std::uint32_t, 3> groups_;
  std::vector<std::uint64_t> some_;
  std::uint64_t total_ = 0, start_ = 0, stride_ = 1;
};

}  // namespace rapt::sim
