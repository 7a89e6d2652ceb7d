#include "cli/core/results.hpp"

#include <utility>

namespace rapt::cli {

namespace {

Array same_layout(const Array& like, int64_t row) {
  std::vector<int64_t> shape = like.shape();
  shape.back() = row;
  return Array(like.dtype(), std::move(shape), like.layout());
}
Array same_layout(const Array& like) { return same_layout(like, like.shape().back()); }

}  // namespace

Forward::Forward(const Attention& a) : out(same_layout(a.q, a.v.shape().back())), lse(a.lse_dtype(), a.lse_shape()) {}

Gradients::Gradients(const Attention& a) : dq(same_layout(a.q)), dk(same_layout(a.k)), dv(same_layout(a.v)) {
  if (a.bias) dbias = Array(a.bias.dtype(), a.bias.shape());
  if (a.sink) dsink = Array(a.sink.dtype(), a.sink.shape());
}

rapt::Gradients Gradients::view() {
  Placement host(kHost);
  return view(host);
}

rapt::Gradients Gradients::view(Placement& place, int32_t wanted) {
  const auto placed = [&](Array& a, int32_t bit) {
    return a && (wanted & bit) ? std::optional(place.out(a)) : std::nullopt;
  };
  return {placed(dq, RAPT_GRADIENT_Q), placed(dk, RAPT_GRADIENT_K), placed(dv, RAPT_GRADIENT_V),
          placed(dbias, RAPT_GRADIENT_BIAS), placed(dsink, RAPT_GRADIENT_SINK)};
}

}  // namespace rapt::cli
