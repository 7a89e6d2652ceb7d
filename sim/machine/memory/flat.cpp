// FLAT and GLOBAL instructions, except for the atomic ones.
#include "sim/machine/memory/flat_special.hpp"
#include "sim/machine/memory/flat_names.hpp"
#include "sim/machine/memory/flat_spaces.hpp"
#include "sim/machine/memory/flat_to_lds.hpp"
#include "sim/machine/atomic/atomic.hpp"
#include "sim/machine/memory/buffer.hpp"
#include "sim/machine/memory/scratch.hpp"

namespace rapt::sim {

void register_vector_memory(HandlerTable& table) {
  add_loads_with_lds_bit<GlobalForm>(table, "global_");
  PlainInstructions<GlobalForm>{table, "global_"}.add_all();
  PlainInstructions<FlatForm>{table, "flat_"}.add_all();
  register_global_special(table);
  register_scratch(table);
  register_buffer(table);
  register_buffer_format(table);
  register_memory_atomics(table);
}

}  // namespace rapt::sim
