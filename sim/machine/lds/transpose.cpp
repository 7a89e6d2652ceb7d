// gfx950's transposing reads. The CDNA4 ISA document (11.4) only gives their purpose; the exchange follows the results
// that AMD's rocRoller expects of the hardware. Sixteen lanes read one matrix of 16 columns (of 16, 8, 6 or 4 bits),
// row after row, and each gets a column. (AMD's rocjitsu implements gfx1250's exchange for them.)
#include "sim/machine/lds/lds.hpp"

namespace rapt::sim {
namespace {

template <Data D, unsigned Bits>
void transposing(Wave& w, const Instruction& i) {
  constexpr unsigned L = 64, elements = bytes_of(D) * 8 / Bits, lanes_per_row = 16 / elements;
  constexpr u32 mask = (1U << Bits) - 1;
  need_lds(i);
  if (w.exec() != w.all_lanes())
    throw Fault(FaultKind::illegal_instruction, std::string(i.opcode->name) + " needs all lanes in EXEC");
  Offsets o;
  ds_offsets<L>(w, i, static_cast<u32>(i.offset), o);
  constexpr u32 alignment = std::bit_ceil(bytes_of(D));
  for (unsigned l = 0; l < L && checked(w); ++l)
    if (o.at[l] % alignment != 0)
      throw Fault(FaultKind::check, std::string(i.opcode->name) + " of a misaligned address", l, o.at[l]);
  u32 rows[rows_of(D) * L], out[rows_of(D) * L] = {};
  lds_load<D, L>(w, i, o, w.all_lanes(), rows);
  const auto element = [&rows](unsigned lane, unsigned e) {
    const unsigned bit = e * Bits, d = bit / 32;
    u64 value = rows[d * L + lane];
    if (d + 1 < rows_of(D)) value |= u64{rows[(d + 1) * L + lane]} << 32;
    return static_cast<u32>(value >> bit % 32) & mask;
  };
  for (unsigned l = 0; l < L; ++l)
    for (unsigned e = 0; e < elements; ++e) {
      const unsigned column = l % 16, from = l / 16 * 16 + e * lanes_per_row + column / elements;
      const u64 value = u64{element(from, column % elements)} << e * Bits % 32;
      const unsigned d = e * Bits / 32;
      out[d * L + l] |= static_cast<u32>(value);
      if (value >> 32 != 0) out[(d + 1) * L + l] |= static_cast<u32>(value >> 32);
    }
  std::memcpy(w.row(i.dst), out, sizeof out);
}

}  // namespace

void register_lds_transpose(HandlerTable& t) {
  t.add("ds_read_b64_tr_b16", transposing<Data::b64, 16>);
  t.add("ds_read_b64_tr_b8", transposing<Data::b64, 8>);
  t.add("ds_read_b64_tr_b4", transposing<Data::b64, 4>);
  t.add("ds_read_b96_tr_b6", transposing<Data::b96, 6>);
}

}  // namespace rapt::sim
