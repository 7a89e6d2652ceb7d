// The kernels of all archives that the library finds.
#pragma once

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "rapt/rapt.hpp"

namespace test {

struct Variant {
  std::string arch, name, dtype;
  int64_t tile = 0;
  bool general = false, scores = false, backward = false, triton = false, hopper = false;  // general: not plain
  bool sums = false;  // Hopper's pass that adds up dq in memory
  int64_t keys = 0;   // of a kernel whose tile must hold all keys of a problem; or 0
  size_t turn = 0;    // which of the shared problems it takes first
};
inline std::ostream& operator<<(std::ostream& out, const Variant& v) { return out << v.arch << ' ' << v.name; }

inline bool sums_dq(const std::string& name) {
  for (const char* operation : {"backward_hopper", "backward_statistics_hopper", "backward_dq_round_hopper"})
    if (name.starts_with(operation)) return true;
  return false;
}

// The kernel that merges partial results runs with a split kernel, which the tuning table chooses.
inline bool combines(const std::string& name) { return name.starts_with("split_combine"); }

// Triton's names end in a word such as "tq128k64w4".
inline bool by_triton(const std::string& name) { return name.substr(name.rfind('.')).starts_with(".tq"); }

// General kernels take dropout. So do Hopper's forward kernels with features scores, its backward kernels that add up
// dq in memory, and the kernels beside them.
inline bool takes_dropout(const Variant& v) {
  const bool beside_sums = v.sums && !v.name.starts_with("backward_hopper");
  return (v.general && (!v.scores || (v.hopper && (!v.backward || v.sums)))) || beside_sums || combines(v.name);
}

// The gradient of a sink needs the statistics that Hopper's backward kernels with features scores ask for.
// backward_short leaves none.
inline bool takes_sink(const Variant& v) {
  return !v.triton && v.keys == 0 && (!(v.hopper && v.backward) || (v.sums && v.scores));
}

// Split kernels take KV caches, and so do Hopper's plain forward kernels whose tiles of keys fit pages.
inline bool takes_cache(const Variant& v) {
  const bool fits = v.hopper && !v.backward && !v.general && v.name.find(".k80") == v.name.npos;
  return fits || v.name.starts_with("split");
}

// The options that every such kernel takes.
inline std::vector<std::string> options_taken(const Variant& v) {
  std::vector<std::string> all = {"causal", "window", "scale"};
  const auto append = [&](std::initializer_list<const char*> more) { all.insert(all.end(), more.begin(), more.end()); };
  if (takes_sink(v)) append({"sink"});
  if (!(v.hopper && v.backward) || v.sums) append({"varlen"});
  if (v.general || combines(v.name)) append({"bias", "mask", "alibi", "softcap"});
  if (takes_dropout(v)) append({"dropout"});
  if (takes_cache(v)) append({"paged"});
  return all;
}

// Kernels of one type and tile are next to each other, whatever their architecture: they share their problems.
inline std::vector<Variant> all_variants() {
  std::vector<Variant> all;
  for (const std::string& path : rapt::Archive::find()) {
    const rapt::Archive archive(path);
    for (size_t i = 0; i < archive.size(); ++i) {
      const rapt_kernel k = archive.kernel(i);
      const char* dtype = k.dtype.bits == 32 ? "fp32" : k.dtype.code == RAPT_BFLOAT ? "bf16" : "fp16";
      // It reads no tensor of the problem's type, so any type that has the other kernels serves.
      if (k.operation == std::string("backward_dsink") || combines(k.name)) dtype = "bf16";
      all.push_back({archive.arch(), k.name, dtype, k.head_dim, k.features != std::string("plain"),
                     k.features == std::string("scores"), std::string(k.operation).starts_with("backward"),
                     by_triton(k.name), std::string(k.operation).ends_with("_hopper"), sums_dq(k.name),
                     k.operation == std::string("backward_short") ? k.block_q : 0});
    }
  }
  std::ranges::stable_sort(all, {}, [](const Variant& v) { return std::tuple(v.backward, v.dtype, v.tile); });
  // The first turn differs from group to group; otherwise an architecture would have the same problems in all groups.
  std::map<std::tuple<std::string, int64_t, bool, bool>, size_t> turns;
  for (Variant& v : all)
    v.turn = turns.try_emplace({v.dtype, v.tile, v.general, v.backward}, turns.size()).first->second++;
  return all;
}

// The kernel that rounds dq runs with a kernel that adds to it.
inline std::string fused_for(const Variant& v) {
  static const std::vector<Variant> all = all_variants();
  for (const Variant& other : all)
    if (other.arch == v.arch && other.dtype == v.dtype && other.tile == v.tile &&
        other.name.starts_with("backward_fused"))
      return other.name;
  return v.name;
}

}  // namespace test
