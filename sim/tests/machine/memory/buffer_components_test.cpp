// Buffer instructions that convert: each number of components, as dwords and as halves, with the instruction's format
// and with the descriptor's. Sources: CDNA3 ISA 9.1, RDNA3 ISA 9.5 and 9.6, RDNA4 ISA 9.5.
#include "sim/tests/support/buffer_scene.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;

struct Element {
  unsigned components;
  const char *layout, *number;
  u32 gfx9_data, gfx9_number, unified;  // in descriptors, by the documents' tables
  std::vector<unsigned char> memory;
  std::vector<u32> dwords, halves;
  u32 one, half_one;  // what a fourth component reads if the format has none
};

const u32 one = 0x3f800000, half = 0x3f000000, two = 0x40000000, fifth = 0x3e4ccccd;
// The float of 11 bits has the upper bits of a half without its sign, the one of 10 bits a bit less.
constexpr u32 small = 0x3c00 >> 4 | 0x3800 >> 4 << 11 | 0x4000 >> 5 << 22;

const Element elements[] = {
    {1, "16", "SINT", 2, 5, 12, {0x01, 0x80}, {0xffff8001}, {0x8001}, 1, 1},
    {2, "8_8", "UNORM", 3, 0, 14, {0xff, 0x33}, {one, fifth}, {0x3c00, 0x3266}, one, 0x3c00},
    {3,
     "10_11_11",
     "FLOAT",
     6,
     7,
     30,
     {small & 0xff, small >> 8 & 0xff, small >> 16 & 0xff, small >> 24},
     {one, half, two},
     {0x3c00, 0x3800, 0x4000},
     one,
     0x3c00},
    {4,
     "8_8_8_8",
     "SINT",
     10,
     5,
     47,
     {1, 0xff, 0x80, 0x7f},
     {1, 0xffffffff, 0xffffff80, 0x7f},
     {1, 0xffff, 0xff80, 0x7f},
     1,
     1},
};

enum class Width { dwords, halves, upper_half };

struct Line {
  const Element* element;
  Width width;
  unsigned count;
  bool typed, store;
  std::string text;
};

Line make(const BufferScene& scene, const Element& e, Width width, unsigned count, bool typed, bool store) {
  const std::string d16 = width == Width::dwords ? "" : width == Width::halves ? "d16" : "d16_hi";
  const std::string middle = d16.empty() ? "format_" : scene.gfx9() ? "format_" + d16 + "_" : d16 + "_format_";
  const unsigned registers = width == Width::dwords ? count : (count + 1) / 2;
  const std::string data = registers == 1 ? "v8" : "v[8:" + std::to_string(7 + registers) + "]";
  const std::string format = scene.gfx9() ? std::string("[BUF_DATA_FORMAT_") + e.layout + ",BUF_NUM_FORMAT_" + e.number
                                          : std::string("[BUF_FMT_") + e.layout + "_" + e.number;
  return {&e,
          width,
          count,
          typed,
          store,
          std::string(typed ? "tbuffer_" : "buffer_") + (store ? "store_" : "load_") + middle +
              std::string("xyzw").substr(0, count) + " " + data + ", v0, s[4:7], " + scene.none() +
              (typed ? " format:" + format + "]" : "") + " offen"};
}

std::vector<Line> lines_of(const BufferScene& scene) {
  std::vector<Line> lines;
  for (const Element& e : elements)
    for (const bool typed : {false, true})
      for (unsigned count = 1; count <= 4; ++count)
        for (const Width width : {Width::dwords, Width::halves, Width::upper_half}) {
          if (width == Width::upper_half && (count != 1 || typed)) continue;
          lines.push_back(make(scene, e, width, count, typed, false));
          if (count == e.components) lines.push_back(make(scene, e, width, count, typed, true));
        }
  return lines;
}

// The registers that hold the first `count` of the components; `before`: what they held.
std::vector<u32> registers(const Line& line, bool gfx9, u32 before) {
  const Element& e = *line.element;
  const bool whole = line.width == Width::dwords;
  std::vector<u32> values = whole ? e.dwords : e.halves;
  while (values.size() < 3) values.push_back(0);
  if (values.size() < 4) values.push_back(whole ? e.one : e.half_one);
  std::vector<u32> result(4, before);
  for (unsigned c = 0; c < line.count; ++c) {
    if (whole) {
      result[c] = values[c];
      continue;
    }
    const unsigned shift = line.width == Width::upper_half ? 16 : 16 * (c % 2);
    u32& word = result[c / 2];
    if (c % 2 == 0 && gfx9) word = 0;  // whose D16 loads write whole registers
    word = (word & ~(0xffffU << shift)) | values[c] << shift;
  }
  return result;
}

TEST(BufferComponents, LoadsAndStores) {
  constexpr u32 before = 0xaaaaaaaa;
  for (const Target& target : every_target()) {
    BufferScene scene(target);
    MemoryWave& wave = scene.wave;
    const std::vector<Line> lines = lines_of(scene);
    std::vector<std::string> texts;
    for (const Line& line : lines) texts.push_back(line.text);
    wave.prepare(texts);
    for (unsigned l = 0; l < target.lanes; ++l) wave.v(0, l) = 16 * l;
    wave.set_exec(~std::uint64_t{4});
    for (const Line& line : lines) {
      SCOPED_TRACE(describe(target) + " " + line.text);
      const Element& e = *line.element;
      wave.s(7) = 0xfac | (scene.gfx9() ? e.gfx9_number << 12 | e.gfx9_data << 15 : e.unified << 12 | 3U << 28);
      std::memset(scene.memory.data(), 0xee, scene.memory.size());
      const std::vector<u32> loaded = registers(line, scene.gfx9(), before);
      for (unsigned l = 0; l < target.lanes; ++l) {
        if (!line.store) std::copy(e.memory.begin(), e.memory.end(), scene.memory.data() + 16 * l);
        for (unsigned r = 0; r < 4; ++r) wave.v(8 + r, l) = line.store ? loaded[r] : before;
      }
      wave.go(line.text);
      for (unsigned l = 0; l < target.lanes; ++l) {
        for (unsigned r = 0; r < 4 && !line.store; ++r) ASSERT_EQ(wave.v(8 + r, l), l == 2 ? before : loaded[r]) << r;
        for (unsigned b = 0; b < 16 && line.store; ++b)
          ASSERT_EQ(scene.memory.data()[16 * l + b], l != 2 && b < e.memory.size() ? e.memory[b] : 0xee) << l << b;
      }
    }
  }
}

}  // namespace
}  // namespace rapt::sim::test
