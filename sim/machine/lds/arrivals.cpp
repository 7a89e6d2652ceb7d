#include "sim/machine/lds/arrivals.hpp"

#include <cstring>

namespace rapt::sim {

void arrive_in_lds(Wave& wave, unsigned outstanding) {
  auto it = wave.lds_arrivals.begin();
  for (; it != wave.lds_arrivals.end() && wave.memory_operations - it->operation >= outstanding; ++it)
    for (const LdsArrival::Word& word : it->words) std::memcpy(word.to, &word.value, sizeof word.value);
  wave.lds_arrivals.erase(wave.lds_arrivals.begin(), it);
}

void defer_to_lds(Wave& wave, std::vector<LdsArrival::Word> words) {
  constexpr unsigned most = 63;
  wave.lds_arrivals.push_back({wave.memory_operations, std::move(words)});
  arrive_in_lds(wave, most);
}

}  // namespace rapt::sim
