// Atomics of buffers: an operand that is not wholly in range is left unchanged, and the result is 0.
#include "sim/machine/atomic/atomic.hpp"
#include "sim/machine/memory/buffer_resource.hpp"
#include "sim/machine/memory/flat_names.hpp"

namespace rapt::sim {
namespace {

void run(Wave& w, const Instruction& i, const AtomicKernel& kernel) {
  const BufferLanes buffer(w, i, false);
  Addresses a;
  const u64 lanes = w.exec(), inside = buffer.part(lanes, 0, kernel.bytes, a);
  if (inside) global_atomic(w, i, kernel, a, inside);
  if (i.dst.kind == OperandKind::none) return;
  u32* result = w.row(i.dst);
  for_lanes(lanes & ~inside, [&](unsigned l) {
    for (unsigned d = 0; d < kernel.bytes / 4; ++d) result[d * w.lanes + l] = 0;
  });
}

}  // namespace

void register_buffer_atomics(HandlerTable& t) {
  for (const NamedAtomic& a : memory_atomics)
    t.add(lasting(std::string("buffer_atomic_") + a.name), atomic_handler<run>(a.operation));
}

}  // namespace rapt::sim
