// The types of random programs, as prelude.h names them, and the random choices that make a program.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace rapt::sim::random {

enum class Type : std::uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };
inline constexpr unsigned type_count = 12;

struct TypeInfo {
  const char* name;
  unsigned bytes;
};
inline constexpr std::array<TypeInfo, type_count> type_infos{{{"i8", 1},
                                                              {"u8", 1},
                                                              {"i16", 2},
                                                              {"u16", 2},
                                                              {"i32", 4},
                                                              {"u32", 4},
                                                              {"i64", 8},
                                                              {"u64", 8},
                                                              {"f16", 2},
                                                              {"bf16", 2},
                                                              {"f32", 4},
                                                              {"f64", 8}}};
constexpr const TypeInfo& info(Type type) { return type_infos[static_cast<unsigned>(type)]; }
constexpr bool is_float(Type type) { return type >= Type::f16; }

struct Vector {
  const char* name;
  Type element;
  unsigned length;
};
inline constexpr std::array<Vector, 11> vectors{{{"u8x4", Type::u8, 4},
                                                 {"u16x2", Type::u16, 2},
                                                 {"u16x4", Type::u16, 4},
                                                 {"u32x2", Type::u32, 2},
                                                 {"u32x3", Type::u32, 3},
                                                 {"u32x4", Type::u32, 4},
                                                 {"u64x2", Type::u64, 2},
                                                 {"f16x2", Type::f16, 2},
                                                 {"f32x2", Type::f32, 2},
                                                 {"f32x4", Type::f32, 4},
                                                 {"f64x2", Type::f64, 2}}};

// Numbers from a seed, the same with every C++ library (whose distributions differ).
class Chooser {
 public:
  explicit Chooser(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  unsigned below(unsigned end) { return static_cast<unsigned>(engine_() % end); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename C>
  const auto& of(const C& container) {
    return container[below(static_cast<unsigned>(std::size(container)))];
  }
  // Integers that reveal mistakes: all widths, near powers of two and the limits.
  std::uint64_t edge();

 private:
  std::mt19937_64 engine_;
};

}  // namespace rapt::sim::random
