#include "sim/machine/memory/flat_rows.hpp"

#include <type_traits>

namespace rapt::sim {
namespace {

using Quad = u32 __attribute__((vector_size(16)));  // four dwords

template <typename T>
T read(u64 at) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
  return value;
}
template <typename T>
void write(u64 at, T value) {
  std::memcpy(reinterpret_cast<void*>(at), &value, sizeof value);
}
Quad quad(const u32* from) {
  Quad q;
  std::memcpy(&q, from, sizeof q);
  return q;
}
void put(u32* to, Quad q) { std::memcpy(to, &q, sizeof q); }

// Transposes a 4 x 4 block of dwords.
void transpose(Quad (&q)[4]) {
  const Quad a = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5), b = __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);
  const Quad c = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5), d = __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);
  q[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5), q[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  q[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5), q[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

// Adjacent lanes access adjacent dwords.
template <unsigned L>
bool consecutive(const u64* at) {
  u64 other = 0;
  for (unsigned l = 0; l < L; ++l) other |= at[l] ^ (at[0] + 4 * l);
  return other == 0;
}

template <unsigned L>
constexpr u64 all = L == 32 ? 0xffffffff : ~u64{0};

// Wide accesses of every lane, four lanes at a time.
template <unsigned Dwords, unsigned L>
void load_all(u32* rows, const u64* at) {
  if constexpr (Dwords == 1) {
    if (consecutive<L>(at)) std::memcpy(rows, reinterpret_cast<const void*>(at[0]), 4 * L);
    else
      for (unsigned l = 0; l < L; ++l) rows[l] = read<u32>(at[l]);
  } else {
    for (unsigned l = 0; l < L; l += 4) {
      Quad q[4];
      for (unsigned k = 0; k < 4; ++k) {
        if constexpr (Dwords == 4) {
          q[k] = read<Quad>(at[l + k]);
        } else if constexpr (Dwords == 2) {
          const u64 v = read<u64>(at[l + k]);
          q[k] = Quad{static_cast<u32>(v), static_cast<u32>(v >> 32), 0, 0};
        } else {
          const u64 v = read<u64>(at[l + k]);
          q[k] = Quad{static_cast<u32>(v), static_cast<u32>(v >> 32), read<u32>(at[l + k] + 8), 0};
        }
      }
      transpose(q);
      for (unsigned d = 0; d < Dwords; ++d) put(rows + d * L + l, q[d]);
    }
  }
}

template <unsigned Dwords, unsigned L>
void store_all(const u32* rows, const u64* at) {
  if constexpr (Dwords == 1) {
    if (consecutive<L>(at)) std::memcpy(reinterpret_cast<void*>(at[0]), rows, 4 * L);
    else
      for (unsigned l = 0; l < L; ++l) write(at[l], rows[l]);
  } else if constexpr (Dwords == 2) {
    for (unsigned l = 0; l < L; ++l) write(at[l], rows[l] | u64{rows[L + l]} << 32);
  } else {
    for (unsigned l = 0; l < L; l += 4) {
      Quad q[4] = {quad(rows + l), quad(rows + L + l), quad(rows + 2 * L + l), Quad{}};
      if constexpr (Dwords == 4) q[3] = quad(rows + 3 * L + l);
      transpose(q);
      for (unsigned k = 0; k < 4; ++k) std::memcpy(reinterpret_cast<void*>(at[l + k]), &q[k], 4 * Dwords);
    }
  }
}

template <Data D>
using Part = std::conditional_t<D == Data::u8 || D == Data::u8_low || D == Data::u8_high, u8,
                                std::conditional_t<D == Data::i8 || D == Data::i8_low || D == Data::i8_high,
                                                   std::int8_t, std::conditional_t<D == Data::i16, std::int16_t, u16>>>;

}  // namespace

template <Data D, unsigned L>
void load_rows(u32* rows, const u64* at, u64 lanes, bool keep) {
  if constexpr (bytes_of(D) < 4) {
    constexpr unsigned shift = D == Data::u8_high || D == Data::i8_high || D == Data::b16_high ? 16 : 0;
    const u32 mask = is_half(D) ? 0xffffU << shift : ~0U;
    const u32 kept = is_half(D) && keep ? ~mask : 0;
    for_lanes(lanes, [&](unsigned l) {
      rows[l] = (rows[l] & kept) | (static_cast<u32>(read<Part<D>>(at[l])) << shift & mask);
    });
  } else if (lanes == all<L>) {
    load_all<rows_of(D), L>(rows, at);
  } else {
    for_lanes(lanes, [&](unsigned l) {
      u32 values[rows_of(D)];
      std::memcpy(values, reinterpret_cast<const void*>(at[l]), sizeof values);
      for (unsigned d = 0; d < rows_of(D); ++d) rows[d * L + l] = values[d];
    });
  }
}

template <Data D, unsigned L>
void store_rows(const u32* rows, const u64* at, u64 lanes) {
  if constexpr (bytes_of(D) < 4) {
    constexpr unsigned shift = D == Data::u8_high || D == Data::b16_high ? 16 : 0;
    for_lanes(lanes, [&](unsigned l) { write(at[l], static_cast<Part<D>>(rows[l] >> shift)); });
  } else if (lanes == all<L>) {
    store_all<rows_of(D), L>(rows, at);
  } else {
    for_lanes(lanes, [&](unsigned l) {
      u32 values[rows_of(D)];
      for (unsigned d = 0; d < rows_of(D); ++d) values[d] = rows[d * L + l];
      std::memcpy(reinterpret_cast<void*>(at[l]), values, sizeof values);
    });
  }
}

#define RAPT_LOAD(d, L) template void load_rows<Data::d, L>(u32*, const u64*, u64, bool);
#define RAPT_STORE(d, L) template void store_rows<Data::d, L>(const u32*, const u64*, u64);
RAPT_EACH_LOAD(RAPT_LOAD)
RAPT_EACH_STORE(RAPT_STORE)

}  // namespace rapt::sim
