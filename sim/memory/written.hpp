// For every byte of an allocation: whether it was ever written. Threads may mark and query at the same time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace rapt::sim {

class WrittenMap {
 public:
  // Nothing is written initially; the map only takes memory where it is used. usable() is false if the system has none.
  explicit WrittenMap(std::uint64_t bytes);
  bool usable() const { return words_ && full_; }

  // Bytes [begin, end); bytes beyond the allocation are ignored.
  void mark(std::uint64_t begin, std::uint64_t end);
  void unmark(std::uint64_t begin, std::uint64_t end);
  bool all(std::uint64_t begin, std::uint64_t end) const;

 private:
  // Fully written pages are recorded, so that long ranges are checked quickly.
  static constexpr std::uint64_t page = 4096;

  bool all_bits(std::uint64_t begin, std::uint64_t end) const;
  bool all_of_page(std::uint64_t number) const;

  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  template <typename T>
  using Zeroed = std::unique_ptr<T[], Free>;

  std::uint64_t size_;
  Zeroed<std::uint64_t> words_;  // one bit per byte
  Zeroed<unsigned char> full_;   // one byte per page
};

}  // namespace rapt::sim
