#include "sim/memory/written.hpp"

#include <algorithm>
#include <atomic>

namespace rapt::sim {
namespace {

constexpr std::uint64_t every_bit = ~std::uint64_t{0};

// Calls f(word, bits) for the words that hold bits [begin, end), begin < end.
template <typename F>
void for_words(std::uint64_t begin, std::uint64_t end, F f) {
  const std::uint64_t first = begin / 64, last = (end - 1) / 64;
  const std::uint64_t low = every_bit << begin % 64, high = every_bit >> (63 - (end - 1) % 64);
  if (first == last) {
    f(first, low & high);
    return;
  }
  f(first, low);
  for (std::uint64_t word = first + 1; word < last; ++word) f(word, every_bit);
  f(last, high);
}

std::uint64_t load(const std::uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_RELAXED); }

}  // namespace

WrittenMap::WrittenMap(std::uint64_t bytes)
    : size_(bytes),
      words_(static_cast<std::uint64_t*>(std::calloc(bytes / 64 + 1, 8))),
      full_(static_cast<unsigned char*>(std::calloc(bytes / page + 1, 1))) {}

void WrittenMap::mark(std::uint64_t begin, std::uint64_t end) {
  end = std::min(end, size_);
  if (begin >= end) return;
  // Workgroups on other threads mark their own bytes of the same word.
  for_words(begin, end, [this](std::uint64_t word, std::uint64_t bits) {
    if (bits == every_bit) __atomic_store_n(&words_[word], bits, __ATOMIC_RELAXED);
    else if ((~load(words_[word]) & bits) != 0) __atomic_fetch_or(&words_[word], bits, __ATOMIC_RELAXED);
  });
}

void WrittenMap::unmark(std::uint64_t begin, std::uint64_t end) {
  end = std::min(end, size_);
  if (begin >= end) return;
  for_words(begin, end, [this](std::uint64_t word, std::uint64_t bits) {
    if ((load(words_[word]) & bits) != 0) __atomic_fetch_and(&words_[word], ~bits, __ATOMIC_RELAXED);
  });
  std::atomic_thread_fence(std::memory_order_seq_cst);  // see all_of_page()
  for (std::uint64_t n = begin / page; n <= (end - 1) / page; ++n) __atomic_store_n(&full_[n], 0, __ATOMIC_RELAXED);
}

bool WrittenMap::all_bits(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t first = begin / 64, last = (end - 1) / 64;
  const std::uint64_t low = every_bit << begin % 64, high = every_bit >> (63 - (end - 1) % 64);
  if (first == last) return (~load(words_[first]) & low & high) == 0;
  std::uint64_t missing = (~load(words_[first]) & low) | (~load(words_[last]) & high);
  for (std::uint64_t word = first + 1; word < last && missing == 0; ++word) missing = ~load(words_[word]);
  return missing == 0;
}

// A thread that records a full page checks it again afterwards, and one that unmarks bytes clears the record
// afterwards: whichever is last sees the other.
bool WrittenMap::all_of_page(std::uint64_t number) const {
  const std::uint64_t begin = number * page, end = std::min(begin + page, size_);
  if (!all_bits(begin, end)) return false;
  __atomic_store_n(&full_[number], 1, __ATOMIC_RELAXED);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (all_bits(begin, end)) return true;
  __atomic_store_n(&full_[number], 0, __ATOMIC_RELAXED);
  return false;
}

bool WrittenMap::all(std::uint64_t begin, std::uint64_t end) const {
  end = std::min(end, size_);
  if (begin >= end) return true;
  if (end - begin <= 64) return all_bits(begin, end);
  for (std::uint64_t n = begin / page; n * page < end; ++n) {
    if (__atomic_load_n(&full_[n], __ATOMIC_RELAXED) != 0) continue;
    const std::uint64_t from = std::max(begin, n * page), to = std::min(end, (n + 1) * page);
    const bool whole = from == n * page && (to == (n + 1) * page || to == size_);
    if (!(whole ? all_of_page(n) : all_bits(from, to))) return false;
  }
  return true;
}

}  // namespace rapt::sim
