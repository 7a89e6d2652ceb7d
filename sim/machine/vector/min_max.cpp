// Minimum, maximum and median of floating-point values.
#include "sim/machine/vector/min_max.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

// Numbers as integers of the same order; the mapping is its own inverse. Those of f16 have 16 bits.
template <class T>
auto key(std::conditional_t<T::bits == 64, std::uint64_t, std::uint32_t> bits) {
  if constexpr (T::bits == 64) {
    const auto x = static_cast<std::int64_t>(bits);
    return x ^ ((x >> 63) & std::numeric_limits<std::int64_t>::max());
  } else {
    constexpr int unused = 32 - static_cast<int>(T::bits);
    const std::int32_t x = static_cast<std::int32_t>(bits << unused) >> unused;
    return x ^ ((x >> 31) & static_cast<std::int32_t>(T::format.sign() - 1));
  }
}

// An operation in its exact form, and on keys, for when no source is a NaN.
template <class Exact, class OnKeys>
struct Selection {
  template <class... V>
  auto operator()(const Wave& w, V... values) const {
    return Exact{}(w, values...);
  }
  template <class T, class... Same, unsigned N>
  static bool rows(const std::tuple<Source<T, N>, Source<Same, N>...>& sources, std::uint32_t* __restrict lo,
                   std::uint32_t* __restrict hi) {
    constexpr auto magnitude = static_cast<decltype(std::get<0>(sources).bits(0))>(T::format.sign() - 1);
    constexpr auto infinity = static_cast<decltype(magnitude)>(T::format.infinity());
    std::uint32_t nans = 0;
#pragma GCC ivdep
    for (unsigned l = 0; l < N; ++l) {
      const auto each = [&](const auto&... s) [[gnu::always_inline]] {
        nans |= (((s.bits(l) & magnitude) > infinity ? 1U : 0U) | ...);
        return OnKeys{}(key<T>(s.bits(l))...);
      };
      const auto chosen = std::apply(each, sources);
      const auto bits = key<T>(static_cast<decltype(std::get<0>(sources).bits(0))>(chosen));
      lo[l] = static_cast<std::uint32_t>(bits) & static_cast<std::uint32_t>(magnitude | T::format.sign());
      if constexpr (T::bits == 64) hi[l] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(bits) >> 32);
    }
    return nans == 0;
  }
};
template <class Exact, class OnKeys>
constexpr Selection<Exact, OnKeys> selection(Exact, OnKeys) {
  return {};
}

constexpr auto least_key = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto greatest_key = [](auto a, auto b) { return a > b ? a : b; };
// Like the documents' V_MED3_F32 on numbers: both zeros are equal.
constexpr auto median_key = [](auto a, auto b, auto c) {
  const auto greatest = greatest_key(greatest_key(a, b), c);
  const auto is_zero = [](auto k) { return (k == 0) | (k == -1); };
  const auto equal = [=](auto k) { return (k == greatest) | (is_zero(k) & is_zero(greatest)); };
  const auto not_first = equal(b) ? greatest_key(a, c) : greatest_key(a, b);
  return equal(a) ? greatest_key(b, c) : not_first;
};
template <class First, class Second>
constexpr auto then_keys(First, Second) {
  return [](auto a, auto b, auto c) { return Second{}(First{}(a, b), c); };
}

constexpr auto min2 = selection(min_number, least_key);
constexpr auto max2 = selection(max_number, greatest_key);
constexpr auto minimum2 = selection(min_propagating, least_key);
constexpr auto maximum2 = selection(max_propagating, greatest_key);
constexpr auto med3 = selection(median, median_key);
constexpr auto min3 = selection(then(min_number, min_number), then_keys(least_key, least_key));
constexpr auto max3 = selection(then(max_number, max_number), then_keys(greatest_key, greatest_key));
constexpr auto minmax = selection(then(min_number, max_number), then_keys(least_key, greatest_key));
constexpr auto maxmin = selection(then(max_number, min_number), then_keys(greatest_key, least_key));
constexpr auto minimum3 = selection(then(min_propagating, min_propagating), then_keys(least_key, least_key));
constexpr auto maximum3 = selection(then(max_propagating, max_propagating), then_keys(greatest_key, greatest_key));
constexpr auto minimummaximum = selection(then(min_propagating, max_propagating), then_keys(least_key, greatest_key));
constexpr auto maximumminimum = selection(then(max_propagating, min_propagating), then_keys(greatest_key, least_key));

constexpr Options selects{.own_nan = true, .keeps_denormal = true};
constexpr Options selects_in_vop3{.keep_half = true, .own_nan = true, .keeps_denormal = true};

template <class T>
struct Names {  // of one type
  std::string_view min, max, min_num, max_num, minimum, maximum;
};
template <class T>
void add_pairs(HandlerTable& t, Names<T> n) {
  add<T(T, T), selects>(t, n.min, min2);
  add<T(T, T), selects>(t, n.max, max2);
  add<T(T, T), selects>(t, n.min_num, min2);
  add<T(T, T), selects>(t, n.max_num, max2);
  add<T(T, T), selects>(t, n.minimum, minimum2);
  add<T(T, T), selects>(t, n.maximum, maximum2);
}

template <class T>
struct Names3 {
  std::array<std::string_view, 2> min, max, med, minmax, maxmin;  // gfx11 and before, gfx12
  std::string_view minimum, maximum, minimummaximum, maximumminimum;
};
template <class T>
void add_triples(HandlerTable& t, const Names3<T>& n) {
  using Signature = T(T, T, T);
  for (unsigned k = 0; k < 2; ++k) {
    add<Signature, selects_in_vop3>(t, n.min[k], min3);
    add<Signature, selects_in_vop3>(t, n.max[k], max3);
    add<Signature, selects_in_vop3>(t, n.med[k], med3);
    add<Signature, selects_in_vop3>(t, n.minmax[k], minmax);
    add<Signature, selects_in_vop3>(t, n.maxmin[k], maxmin);
  }
  add<Signature, selects_in_vop3>(t, n.minimum, minimum3);
  add<Signature, selects_in_vop3>(t, n.maximum, maximum3);
  add<Signature, selects_in_vop3>(t, n.minimummaximum, minimummaximum);
  add<Signature, selects_in_vop3>(t, n.maximumminimum, maximumminimum);
}

}  // namespace

void register_min_max(HandlerTable& t) {
  add_pairs<f32>(t, {"v_min_f32", "v_max_f32", "v_min_num_f32", "v_max_num_f32", "v_minimum_f32", "v_maximum_f32"});
  add_pairs<f16>(t, {"v_min_f16", "v_max_f16", "v_min_num_f16", "v_max_num_f16", "v_minimum_f16", "v_maximum_f16"});
  add_pairs<f64>(t, {"v_min_f64", "v_max_f64", "v_min_num_f64", "v_max_num_f64", "v_minimum_f64", "v_maximum_f64"});
  add_triples<f32>(t, {.min = {"v_min3_f32", "v_min3_num_f32"},
                       .max = {"v_max3_f32", "v_max3_num_f32"},
                       .med = {"v_med3_f32", "v_med3_num_f32"},
                       .minmax = {"v_minmax_f32", "v_minmax_num_f32"},
                       .maxmin = {"v_maxmin_f32", "v_maxmin_num_f32"},
                       .minimum = "v_minimum3_f32",
                       .maximum = "v_maximum3_f32",
                       .minimummaximum = "v_minimummaximum_f32",
                       .maximumminimum = "v_maximumminimum_f32"});
  add_triples<f16>(t, {.min = {"v_min3_f16", "v_min3_num_f16"},
                       .max = {"v_max3_f16", "v_max3_num_f16"},
                       .med = {"v_med3_f16", "v_med3_num_f16"},
                       .minmax = {"v_minmax_f16", "v_minmax_num_f16"},
                       .maxmin = {"v_maxmin_f16", "v_maxmin_num_f16"},
                       .minimum = "v_minimum3_f16",
                       .maximum = "v_maximum3_f16",
                       .minimummaximum = "v_minimummaximum_f16",
                       .maximumminimum = "v_maximumminimum_f16"});
}

}  // namespace rapt::sim::valu
