#include "sim/tests/support/matrix_reference.hpp"

#include <bit>
#include <regex>
#include <stdexcept>

namespace rapt::sim::test {

MatrixName parse_matrix_name(const std::string& name, Arch arch, unsigned lanes) {
  static const std::regex form(
      "v_(mfma|smfmac|wmma|swmmac)_([a-z0-9]+)_([0-9]+)x([0-9]+)x([0-9]+)_?(?:([0-9]+)b_)?([a-z0-9]+?)(?:_1k)?(?:_([a-"
      "z0-9]+))?");
  std::smatch parts;
  if (!std::regex_match(name, parts, form)) throw std::runtime_error("matrix name " + name);
  MatrixName m;
  m.name = name;
  m.arch = arch;
  m.lanes = lanes;
  m.d = parts[2];
  m.m = static_cast<unsigned>(std::stoul(parts[3]));
  m.n = static_cast<unsigned>(std::stoul(parts[4]));
  m.k = static_cast<unsigned>(std::stoul(parts[5]));
  m.a = parts[7];
  m.b = parts[8].matched && parts[8] != "1k" ? parts[8].str() : m.a;
  m.sparse = parts[1] == "smfmac" || parts[1] == "swmmac";
  if (parts[6].matched) m.blocks = static_cast<unsigned>(std::stoul(parts[6]));
  else if (parts[1] == "mfma" && (arch == Arch::gfx908 || arch == Arch::gfx90a)) {
    // Old names do not give the number of blocks; the blocks of these shapes fill the lanes.
    const bool one_step = m.k == (m.a == "f32"                                             ? 1
                                  : m.a == "bf16" && name.find("_1k") == std::string::npos ? 2
                                                                                           : 4) &&
                          m.a != "f64";
    if (m.m == 4 || one_step) m.blocks = 64 / (m.m == 4 && m.a == "f64" ? 16 : m.m);
  }
  return m;
}

std::vector<MatrixName> matrix_names(Arch arch, unsigned lanes) {
  std::vector<MatrixName> all;
  for (const Opcode& o : opcodes(arch)) {
    const std::string name(o.name);
    const bool matrix = name.find("_mfma_") != std::string::npos || name.find("mmac_") != std::string::npos ||
                        name.find("smfmac_") != std::string::npos || name.find("_wmma_") != std::string::npos;
    if (!matrix || name.find("scale") != std::string::npos || name.find("f8f6f4") != std::string::npos) continue;
    all.push_back(parse_matrix_name(name, arch, lanes));
  }
  return all;
}

unsigned type_bits(const std::string& type) {
  if (type == "f64") return 64;
  if (type == "f32" || type == "xf32" || type == "i32") return 32;
  if (type == "f16" || type == "bf16") return 16;
  if (type == "fp6" || type == "bf6") return 6;
  if (type == "fp4" || type == "iu4") return 4;
  return 8;
}

std::uint64_t encode_small(const std::string& type, Arch arch, int value) {
  if (type[0] == 'i') return static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << type_bits(type)) - 1);
  if (type == "f64") return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  const auto f32 = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == "f32" || type == "xf32") return f32;
  if (type == "bf16") return f32 >> 16;
  if (value == 0) return 0;
  unsigned mantissa = 0;
  int bias = 0;
  const bool fnuz = arch == Arch::gfx942;
  if (type == "f16") mantissa = 10, bias = 15;
  if (type == "fp8") mantissa = 3, bias = fnuz ? 8 : 7;
  if (type == "bf8") mantissa = 2, bias = fnuz ? 16 : 15;
  if (type == "fp6") mantissa = 3, bias = 1;
  if (type == "bf6") mantissa = 2, bias = 3;
  if (type == "fp4") mantissa = 1, bias = 1;
  const auto exponent = static_cast<unsigned>(static_cast<int>(f32 >> 23 & 255) - 127 + bias);
  return (value < 0 ? 1U << (type_bits(type) - 1) : 0U) | exponent << mantissa | (f32 & 0x7fffff) >> (23 - mantissa);
}

namespace {

// RDNA4 document, "Matrix Element Storage in VGPRs": the bits of k that select the lane, by size and the matrix's k.
std::vector<Place> place_gfx12(const MatrixName& m, unsigned size, unsigned side, unsigned k, unsigned k_count,
                               bool dense_of_sparse) {
  const auto bit = [&](unsigned n) { return k >> n & 1; };
  unsigned lane = 0, element = 0;
  if (m.lanes == 32) {
    if (size == 16 && !dense_of_sparse) lane = bit(2), element = bit(3) << 2 | (k & 3);
    else if (size == 16) lane = bit(3), element = bit(4) << 3 | (k & 7);
    else lane = k / (k_count / 2), element = k % (k_count / 2);
  } else if (size == 16 && !dense_of_sparse) {
    lane = bit(3) << 1 | bit(2), element = k & 3;
  } else if (size == 16) {
    lane = bit(4) << 1 | bit(3), element = k & 7;
  } else if (size == 4 && k_count == 16) {
    lane = bit(3), element = k & 7;
  } else {  // the highest bit of k the lower half of 32 lanes, the next one the upper
    const unsigned quarter = k / (k_count / 4);
    lane = (quarter & 1) << 1 | quarter >> 1, element = k % (k_count / 4);
  }
  return {{element * size, 16 * lane + side}};
}

std::vector<Place> place_input(const MatrixName& m, const std::string& type, unsigned side_count, unsigned block,
                               unsigned side, unsigned k, unsigned k_count, bool dense_of_sparse) {
  const unsigned size = type_bits(type);
  if (m.arch == Arch::gfx1201) return place_gfx12(m, size, side, k, k_count, dense_of_sparse);
  if (is_rdna(m.arch)) {  // repeated in every 16 lanes
    std::vector<Place> copies;
    for (unsigned l = side; l < m.lanes; l += 16) copies.push_back({k * size, l});
    return copies;
  }
  unsigned upper = 0;
  if (dense_of_sparse &&
      k_count * size / (64 / side_count) > 128) {  // gfx950: the second half of k in registers 4 to 7
    upper = k / (k_count / 2) * 128;
    k_count /= 2;
    k %= k_count;
  }
  const unsigned k_l = k_count / (64 / (side_count * m.blocks));
  return {{upper + k % k_l * size, side + side_count * (block + m.blocks * (k / k_l))}};
}

}  // namespace

std::vector<Place> place_a(const MatrixName& m, unsigned block, unsigned i, unsigned k) {
  return place_input(m, m.a, m.m, block, i, k, m.sparse ? m.k / 2 : m.k, false);
}
std::vector<Place> place_b(const MatrixName& m, unsigned block, unsigned k, unsigned j) {
  return place_input(m, m.b, m.n, block, j, k, m.k, m.sparse);
}

Place place_d(const MatrixName& m, unsigned block, unsigned i, unsigned j) {
  if (m.arch == Arch::gfx1201) {
    const unsigned per_lane = m.lanes == 32 ? 8 : 4;
    const unsigned lane = m.lanes == 32 ? i / 8 * 16 + j : i / 4 % 2 * 32 + i / 8 * 16 + j;
    return {i % per_lane * type_bits(m.d), lane};
  }
  if (is_rdna(m.arch)) return {i / (m.lanes / 16) * 32, i % (m.lanes / 16) * 16 + j};
  const unsigned h = m.d == "f64" ? 1 : 4;
  const unsigned b_i = (64 + m.n * m.m / h - 1) / (m.n * m.m / h);
  const unsigned m_i = 64 / b_i / m.n, g = m.m / (h * m_i);
  const unsigned item = i % h + h * (i / (h * m_i) + g * (block / b_i));
  return {item * type_bits(m.d), j + m.n * (block % b_i + b_i * (i / h % m_i))};
}

void put(OneWave& w, unsigned base, Place at, unsigned bits, std::uint64_t value) {
  for (unsigned n = 0; n < bits; ++n) {
    std::uint32_t& word = w.v(base + (at.bit + n) / 32, at.lane);
    const std::uint32_t mask = 1U << (at.bit + n) % 32;
    word = (value >> n & 1) != 0 ? word | mask : word & ~mask;
  }
}

std::uint64_t get(OneWave& w, unsigned base, Place at, unsigned bits) {
  std::uint64_t value = 0;
  for (unsigned n = 0; n < bits; ++n)
    value |= std::uint64_t{w.v(base + (at.bit + n) / 32, at.lane) >> (at.bit + n) % 32 & 1} << n;
  return value;
}

}  // namespace rapt::sim::test
