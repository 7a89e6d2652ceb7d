#include "sim/tests/support/instructions/damage.hpp"

#include <algorithm>

namespace rapt::sim::test {

void load_or_refuse(const std::vector<std::byte>& bytes, Arch arch) {
  try {
    std::vector<std::byte> storage;
    const auto selected = select_code_object(bytes, arch, storage);
    CodeObject::load(selected, arch, 0);
  } catch (const LoadError&) {
  }
}

void load_or_refuse_changed(std::vector<std::byte> bytes, std::size_t count, Arch arch) {
  for (std::size_t at = 0; at < std::min(count, bytes.size()); at++) {
    const std::byte original = bytes[at];
    for (const unsigned change : {0x01U, 0x80U, 0xffU}) {
      bytes[at] = original ^ static_cast<std::byte>(change);
      load_or_refuse(bytes, arch);
    }
    bytes[at] = original;
  }
}

}  // namespace rapt::sim::test
