// Any words for any architecture decode or are refused: an instruction is within the given words, has text and effects,
// and needs exactly its words. The first byte chooses the architecture, and RDNA's wave size.
#include "sim/isa/decode.hpp"
#include "sim/isa/effects.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

using namespace rapt::sim;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 5) return 0;
  const auto arch = static_cast<Arch>(data[0] % arch_count);
  const DecodeMode mode{arch, is_cdna(arch) || data[0] >= 128 ? 64U : 32U};
  std::vector<std::uint32_t> words((size - 1) / 4);
  std::memcpy(words.data(), data + 1, 4 * words.size());
  for (std::size_t at = 0; at < words.size();) {
    const std::span rest = std::span(words).subspan(at);
    const auto instruction = decode(mode, rest);
    if (!instruction) return 0;
    const std::size_t count = instruction->size / 4;
    if (instruction->size % 4 != 0 || count == 0 || count > 4 || count > rest.size()) std::abort();
    const std::string text = print(mode, *instruction);
    if (text.empty()) std::abort();
    const Effects found = effects(*instruction, mode.lanes);
    for (const auto accesses : {found.reads(), found.writes()})
      for (const RegisterAccess& access : accesses)
        if (access.count == 0) std::abort();
    const std::vector<std::uint32_t> alone(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
    const auto again = decode(mode, alone);
    if (!again || again->size != instruction->size || print(mode, *again) != text) std::abort();
    // The first half of gfx950's scaled products is an instruction too: any other needs all of its words.
    const auto shorter = decode(mode, std::span(alone).first(count - 1));
    if (shorter && (count != 4 || shorter->size != 8)) std::abort();
    at += count;
  }
  return 0;
}
