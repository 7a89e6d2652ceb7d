#include "sim/machine/core/handlers.hpp"

namespace rapt::sim {

void HandlerTable::add(std::string_view name, Handler wave32, Handler wave64, ArchSet archs) {
  entries_[name].push_back({archs, wave32, wave64});
}

Handler HandlerTable::find(std::string_view name, Arch arch, unsigned lanes) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return nullptr;
  for (const Entry& entry : found->second)
    if (contains(entry.archs, arch)) return lanes == 32 ? entry.wave32 : entry.wave64;
  return nullptr;
}

const HandlerTable& handlers() {
  static const HandlerTable table = [] {
    HandlerTable t;
    register_scalar(t);
    register_control(t);
    register_valu(t);
    register_matrix(t);
    register_packed(t);
    register_vector_memory(t);
    register_lds(t);
    return t;
  }();
  return table;
}

}  // namespace rapt::sim
