// Buffer loads and stores that convert: BUFFER_*_FORMAT_* take format and component selection from the descriptor,
// TBUFFER_* take the format from the instruction and the components unchanged. An element is in range as a whole or not
// at all; a component that the format lacks reads 0, the fourth 1 (ISA documents, "Buffer Data").
#include "sim/machine/memory/buffer_format.hpp"
#include "sim/machine/memory/buffer.hpp"
#include "sim/machine/memory/flat_names.hpp"
#include "sim/machine/memory/flat_to_lds.hpp"

namespace rapt::sim {
namespace {

enum class Width : u8 { dword, d16, d16_high };

BufferFormat format_of(const Instruction& i, const BufferResource& r) {
  if (i.opcode->format == Format::mtbuf) return buffer_format(r.gfx9, i.data_format, i.number_format);
  return buffer_format(r.gfx9, r.data_format, r.number_format);
}

std::array<u32, 4> selected(const Instruction& i, const BufferResource& r, const BufferFormat& format,
                            const std::array<u32, 4>& values, bool d16) {
  const bool whole = format.number == Number::uint || format.number == Number::sint;
  const u32 one = whole ? 1 : d16 ? 0x3c00 : 0x3f800000;
  std::array<u32, 4> result{};
  for (unsigned c = 0; c < 4; ++c) {
    const unsigned select = i.opcode->format == Format::mtbuf ? 4 + c : r.select[c];
    if (select == 1) result[c] = one;
    else if (select >= 4) result[c] = select - 4 < format.components() ? values[select - 4] : select == 7 ? one : 0;
  }
  return result;
}

// Two D16 components share a register; a single last one treats the other half as D16 loads do.
template <Width W>
void put(u32* rows, unsigned width, unsigned lane, unsigned count, const std::array<u32, 4>& values, bool keep) {
  if constexpr (W == Width::dword) {
    for (unsigned c = 0; c < count; ++c) rows[c * width + lane] = values[c];
  } else if constexpr (W == Width::d16_high) {
    rows[lane] = (keep ? rows[lane] & 0xffff : 0) | values[0] << 16;
  } else {
    for (unsigned c = 0; c < count; c += 2) {
      u32& row = rows[c / 2 * width + lane];
      row = values[c] | (c + 1 < count ? values[c + 1] << 16 : keep ? row & 0xffff0000 : 0);
    }
  }
}

template <Width W>
std::array<u32, 4> take(const u32* rows, unsigned width, unsigned lane, unsigned count) {
  std::array<u32, 4> values{};
  for (unsigned c = 0; c < count; ++c) {
    if constexpr (W == Width::dword) values[c] = rows[c * width + lane];
    else values[c] = rows[c / 2 * width + lane] >> (W == Width::d16_high ? 16 : 16 * (c % 2)) & 0xffff;
  }
  return values;
}

template <Width W, unsigned Count>
void load_into(Wave& w, const Instruction& i, u32* rows) {
  const BufferLanes buffer(w, i, true);
  const BufferFormat format = format_of(i, buffer.resource());
  const u64 lanes = w.exec();
  Addresses a;
  const u64 inside = format.components() == 0 ? 0 : buffer.part(lanes, 0, format.bytes(), a);
  const Access access{Space::global, Action::load, format.bytes(), inside, a.at};
  buffer.check(access);
  note_access(w, i, access);
  for_lanes(lanes, [&](unsigned lane) {
    std::array<u32, 4> values{};
    if (inside >> lane & 1)
      values = selected(i, buffer.resource(), format,
                        unpack(format, reinterpret_cast<const unsigned char*>(a.at[lane]), W != Width::dword),
                        W != Width::dword);
    put<W>(rows, w.lanes, lane, Count, values, keeps_other_half(w));
  });
}

template <Width W, unsigned Count>
void load(Wave& w, const Instruction& i) {
  if (w.exec() == 0) return;
  constexpr unsigned dwords = W == Width::dword ? Count : (Count + 1) / 2;
  if (i.lds) {
    u32 rows[dwords * 64];
    load_into<W, Count>(w, i, rows);
    Offsets o;
    direct_offsets<Data::b32, 64>(
        (w.sgpr[sreg::m0] & (w.arch == Arch::gfx950 ? 0x3ffff : 0xffff)) + static_cast<u32>(i.offset), o);
    lds_store_later<Data::b32, 64>(w, i, o, w.exec(), rows);
    return;
  }
  load_into<W, Count>(w, i, w.row(i.dst));
  if (i.tfe) for_lanes(w.exec(), [&](unsigned l) { w.row(i.dst)[dwords * w.lanes + l] = 0; });
}

template <Width W, unsigned Count>
void store(Wave& w, const Instruction& i) {
  if (w.exec() == 0) return;
  const BufferLanes buffer(w, i, true);
  const BufferFormat format = format_of(i, buffer.resource());
  if (format.components() == 0) return;
  Addresses a;
  const Access access{Space::global, Action::store, format.bytes(), buffer.part(w.exec(), 0, format.bytes(), a), a.at};
  buffer.check(access);
  note_access(w, i, access);
  const u32* rows = w.row(i.src[1]);
  for_lanes(access.lanes, [&](unsigned lane) {
    pack(format, take<W>(rows, w.lanes, lane, Count), W != Width::dword, reinterpret_cast<unsigned char*>(a.at[lane]));
  });
  mark_global_store(access);
}

template <Width W, unsigned Count>
void add(HandlerTable& t, const char* gfx9_middle, const char* gfx11_middle, const char* components) {
  for (const char* unit : {"buffer_", "tbuffer_"})
    for (const std::string middle : {gfx9_middle, gfx11_middle}) {
      t.add(lasting(std::string(unit) + "load_" + middle + components), load<W, Count>);
      t.add(lasting(std::string(unit) + "store_" + middle + components), store<W, Count>);
      if (std::string_view(gfx9_middle) == gfx11_middle) break;
    }
}

template <Width W>
void add_counts(HandlerTable& t, const char* gfx9_middle, const char* gfx11_middle) {
  add<W, 1>(t, gfx9_middle, gfx11_middle, "x"), add<W, 2>(t, gfx9_middle, gfx11_middle, "xy");
  add<W, 3>(t, gfx9_middle, gfx11_middle, "xyz"), add<W, 4>(t, gfx9_middle, gfx11_middle, "xyzw");
}

}  // namespace

void register_buffer_format(HandlerTable& t) {
  add_counts<Width::dword>(t, "format_", "format_");
  add_counts<Width::d16>(t, "format_d16_", "d16_format_");
  add<Width::d16_high, 1>(t, "format_d16_hi_", "d16_hi_format_", "x");
}

}  // namespace rapt::sim
