// Dropout of a warp's tile of P with the mask of kernels/common/philox.h. The tile has 16 rows and 8 Tiles columns.
// Either queries are its rows, or keys.
//
// A call of Philox decides on 2 queries by 4 keys, which four lanes have. So each of them makes every fourth call: of
// tiles 4 m + n, where n is its number. It keeps one bit of each field, and the four exchange their bits.
#pragma once

#include "kernels/common/scores.hpp"
#include "kernels/hopper/isa/permute.hpp"
#include "kernels/hopper/tile/fragments.hpp"

namespace rapt::nvidia {

// What the mask of all tiles depends on. In shared memory.
struct DropoutSeed {
  uint32_t key[2], offset;

  DEVICE DropoutSeed of(Problem& p) {
    const DropoutNumbers numbers = dropout_numbers(p);
    return {{static_cast<uint32_t>(numbers.key), static_cast<uint32_t>(numbers.key >> 32)},
            static_cast<uint32_t>(numbers.offset)};
  }
};

DEVICE bool has_dropout(Problem& p) { return p.keep_threshold < 65536; }

// rapt_philox() in half of the multiplications and additions: nvcc computes it with factors of 64 bits.
DEVICE rapt_philox_bits philox(const uint32_t (&key)[2], uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3) {
  const auto multiply = [](uint32_t factor, uint32_t x) {
    asm("" : "+r"(x));
    return uint64_t{factor} * x;
  };
  uint32_t k0 = key[0], k1 = key[1];
#pragma unroll
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    const uint64_t p0 = multiply(0xD2511F53, c0), p1 = multiply(0xCD9E8D57, c2);
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0, c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1, c3 = static_cast<uint32_t>(p0);
  }
  return {{c0, c1, c2, c3}};
}

// The bits of a lane's elements: 1 if an element is kept. Word n % 2 has the bits of tiles 4 m + n. Byte 2 (n / 2) is
// about elements in even columns, the next byte about elements in odd columns.
template <int Tiles>
struct alignas(8) KeptElements {
  static constexpr int kCalls = Tiles / 2;  // of a lane: the first has bit kCalls - 1
  uint32_t word[2];

  // The elements' bits are the highest ones of their bytes.
  DEVICE_MEMBER uint32_t with_sign(int i, int half) const { return word[i % 2] << (8 - kCalls + i / 4 * 2 + half); }
  // The element, or 0 if it is not kept.
  DEVICE_MEMBER float of(float x, int i, int e) const {
    const int byte = i % 4 / 2 * 2 + e % 2;
    return __uint_as_float(bits(x) & permute_bytes(with_sign(i, e / 2), 0, 0x8888 + 0x1111 * byte));
  }
};

// Four lanes, whose numbers differ in two bits, exchange bits: each lane gets 16 of every lane. `first` has the bits
// for lanes 0 and 1 of the four, `second` the bits for lanes 2 and 3.
template <int Tiles, int High, int Low>
DEVICE KeptElements<Tiles> exchange(uint32_t first, uint32_t second, uint32_t lane) {
  const bool high = lane & High, low = lane & Low;
  const uint32_t own = high ? second : first, others = __shfl_xor_sync(~0u, high ? first : second, High);
  const uint32_t order = (high ? 0x1054u : 0x5410u) + (low ? 0x2222u : 0);  // by lane
  const uint32_t same = permute_bytes(own, others, order);
  const uint32_t other = __shfl_xor_sync(~0u, permute_bytes(own, others, order ^ 0x2222u), Low);
  return {{low ? other : same, low ? same : other}};
}

// Makes the lane's calls, draw(m, half) for each tile 4 m + n and half of the rows. Each call shifts two bits into
// bits[i]: bits 0 and 16 say whether the fields of its word i are kept.
template <int Tiles, class Draw>
DEVICE void find_kept(uint32_t threshold, const Draw& draw, uint32_t (&bits)[4]) {
  const uint32_t limit = threshold * 0x10001u, below = (-threshold & 0xffffu) * 0x10001u;
#pragma unroll
  for (int call = 0; call < KeptElements<Tiles>::kCalls; ++call) {
    const rapt_philox_bits random = draw(static_cast<uint32_t>(call / 2), static_cast<uint32_t>(call % 2));
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // a field less the threshold wraps around if it is kept, and else is 0
      const uint32_t kept = __viaddmin_u16x2(__vminu2(random.word[i], limit), below, 0x10001u);
      bits[i] = call == 0 ? kept : 2 * bits[i] + kept;
    }
  }
}

// Queries are the tile's rows. The lane's elements are of one word of their calls.
template <int Tiles>
DEVICE KeptElements<Tiles> kept_of_rows(const DropoutSeed& seed, uint32_t threshold, uint32_t head,
                                        uint32_t first_query, uint32_t first_key, uint32_t lane) {
  const uint32_t n = lane % 2 + lane / 4 % 2 * 2, query = first_query / 2 + lane / 8;
  const uint32_t key = first_key / 4 + 2 * n + lane / 2 % 2;
  uint32_t bits[4];
  const auto draw = [&](uint32_t m, uint32_t half) {
    return philox(seed.key, key + 8 * m, query + 4 * half, head, seed.offset);
  };
  find_kept<Tiles>(threshold, draw, bits);
  return exchange<Tiles, 4, 1>(permute_bytes(bits[0], bits[1], 0x6420), permute_bytes(bits[2], bits[3], 0x6420), lane);
}

// Keys are the tile's rows. The lane's elements are of one field of two words.
template <int Tiles>
DEVICE KeptElements<Tiles> kept_of_columns(const DropoutSeed& seed, uint32_t threshold, uint32_t head,
                                           uint32_t first_query, uint32_t first_key, uint32_t lane) {
  const uint32_t n = lane / 4 % 4, query = first_query / 2 + 4 * n + lane % 4, key = first_key / 4 + lane / 16;
  uint32_t bits[4];
  const auto draw = [&](uint32_t m, uint32_t half) {
    return philox(seed.key, key + 2 * half, query + 16 * m, head, seed.offset);
  };
  find_kept<Tiles>(threshold, draw, bits);
  return exchange<Tiles, 8, 4>(permute_bytes(bits[0], bits[2], 0x6240), permute_bytes(bits[1], bits[3], 0x6240), lane);
}

// Zeroes elements of rounded P that are not kept.
template <int Tiles>
DEVICE void drop_others(Fragment (&p)[Tiles / 2], const KeptElements<Tiles>& kept) {
#pragma unroll
  for (int i = 0; i < Tiles; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      p[i / 2].x[i % 2 * 2 + half] &= permute_bytes(kept.with_sign(i, half), 0, i % 4 < 2 ? 0x9988 : 0xbbaa);
}

}  // namespace rapt::nvidia
