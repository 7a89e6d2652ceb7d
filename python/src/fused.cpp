#include "fused.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string_view>

#include "errors.hpp"
#include "scalars.hpp"

namespace rapt::python {

namespace {

int64_t size_of(const Tensor& tensor, int dimension) { return tensor.c().shape[dimension]; }

bool is_true(nb::handle object) { return object.is(Py_True); }

bool has_contiguous_rows(const Tensor& tensor) {
  const rapt_tensor c = tensor.c();
  return c.strides == nullptr || c.ndim == 0 || c.strides[c.ndim - 1] == 1;
}

int64_t dtype_of(const Tensor& tensor) {
  const rapt_dtype dtype = tensor.c().dtype;
  return dtype.code << 8 | dtype.bits;
}

// Rows of lse that the operator only pads are left alone.
Tensor rows_of(const Tensor& lse, int64_t rows) {
  const rapt_tensor c = lse.c();
  if (c.ndim < 3) return lse;
  const Dims shape = {c.shape[0], c.shape[1], std::min(c.shape[2], rows)};
  if (c.strides != nullptr) return Tensor(c.data, c.dtype, shape, {c.strides, 3}, c.device);
  return Tensor(c.data, c.dtype, shape, {c.shape[1] * c.shape[2], c.shape[2], 1}, c.device);
}

}  // namespace

Fused::Fused(std::string name, Results results, nb::object counts, nb::object side)
    : name_(std::move(name)), results_(std::move(results)), counts_(std::move(counts)), side_(std::move(side)) {
  take_ = counts_.attr("take");
  seed_type_ = side_.attr("SEED");
  backend_ = nb::cast<std::string>(side_.attr("backend")());
  const nb::module_ torch = nb::module_::import_("torch");
  empty_ = torch.attr("empty");
  empty_like_ = torch.attr("empty_like");
  fp32_ = torch.attr("float32");
  uses_flash_ = torch.attr("_C").attr("_get_flash_sdp_enabled");
  deterministic_ = torch.attr("_C").attr("_get_deterministic_algorithms");
  only_warns_ = torch.attr("_C").attr("_get_deterministic_algorithms_warn_only");
  capturing_ = torch.attr("cuda").attr("is_current_stream_capturing");
}

nb::object Fused::forward(nb::handle q, nb::handle k, nb::handle v, nb::handle bias, double dropout, bool causal,
                          nb::handle scale, bool wants_lse) {
  return attempt(Direction::forward, false, [&]() -> Attempt {
    Call call;
    set(call, q, k, v, bias, causal, scale);
    if (nb::object why = why_not(Direction::forward, call, q, k, dropout > 0, !wants_lse); !why.is_none())
      return {.results = {}, .why = why};
    // With dropout or a bias, the backward is Rapt's too.
    if (wants_lse && (dropout > 0 || !bias.is_none())) side_.attr("check_has_backward")(q, v);
    const nb::object out = new_out(call, q);
    const Tensor written = call.tensors.take_sequences(out, "out", Access::write);
    nb::object lse = nb::none(), unread_ones = unread(call, q, wants_lse);
    std::optional<Tensor> sums;
    if (wants_lse) {
      lse = new_lse(call, q);
      sums = rows_of(call.tensors.take(lse, "lse", Access::write), size_of(call.attention.q, 1));
    }
    if (dropout > 0) {
      const nb::object seed = side_.attr("draw_seed")(q);
      call.attention.dropout = {.probability = dropout,
                                .seed_tensor = call.tensors.take(seed, "dropout_seed", Access::read)};
      unread_ones = side_.attr("with_seed")(unread_ones, seed);
    }
    call.run([&] { rapt::forward(call.attention, written, sums, call.execution); });
    if (dropout > 0 || !bias.is_none()) counts_.attr("bind")();
    return {.results = nb::make_tuple(out, lse, unread_ones), .why = nb::none()};
  });
}

nb::object Fused::backward(nb::handle dout, nb::handle q, nb::handle k, nb::handle v, nb::handle bias, nb::handle out,
                           nb::handle lse, double dropout, nb::handle seed, bool causal, nb::handle scale,
                           std::array<bool, 4> wanted) {
  // Libraries have different dropout, and different lse for rows with nothing to attend, so one computes both passes.
  const bool bound = dropout > 0 || !bias.is_none();
  const bool ours = bound && !seed.is_none() && seed.attr("dtype").is(seed_type_);
  return attempt(Direction::backward, ours, [&]() -> Attempt {
    if (!ours && is_true(counts_.attr("off"))) return {.results = {}, .why = nb::str("Rapt is off")};
    if (!ours && bound) return {.results = {}, .why = nb::str("the forward was torch's")};
    Call call;
    set(call, q, k, v, bias, causal, scale);
    if (nb::object why = ours ? nb::none() : why_not(Direction::backward, call, q, k, false, false); !why.is_none())
      return {.results = {}, .why = why};
    if (dropout > 0)
      call.attention.dropout = {
          .probability = dropout,
          .seed_tensor = call.tensors.take(side_.attr("read_seed")(seed), "dropout_seed", Access::read)};
    Tensors& tensors = call.tensors;
    nb::object rows = nb::borrow(dout);
    Tensor gradient = tensors.take_sequences(rows, "dout", Access::read);
    if (!has_contiguous_rows(gradient)) {
      rows = side_.attr("contiguous_rows")(dout);
      gradient = tensors.take_sequences(rows, "dout", Access::read);
    }
    const std::array<nb::object, 4> made = {
        wanted[0] ? empty_like_(q) : nb::none(), wanted[1] ? empty_like_(k) : nb::none(),
        wanted[2] ? empty_like_(v) : nb::none(),
        wanted[3] && !bias.is_none() ? empty(bias.attr("shape"), bias.attr("dtype"), bias) : nb::none()};
    const Gradients gradients = {.dq = tensors.take_optional_sequences(made[0], "dq", Access::write),
                                 .dk = tensors.take_optional_sequences(made[1], "dk", Access::write),
                                 .dv = tensors.take_optional_sequences(made[2], "dv", Access::write),
                                 .dbias = tensors.take_optional(made[3], "dbias", Access::write)};
    const Tensor result = tensors.take_sequences(out, "out", Access::read);
    const Tensor sums = rows_of(tensors.take(lse, "lse", Access::read), size_of(call.attention.q, 1));
    if (is_true(deterministic_()) && is_true(only_warns_())) side_.attr("warn_of_order")(name_);
    call.run([&] { rapt::backward(call.attention, result, sums, gradient, gradients, call.execution); });
    return {.results = nb::make_tuple(made[0], made[1], made[2], made[3]), .why = nb::none()};
  });
}

// Computes the call, and counts it. must: only Rapt can, so its errors are raised.
template <class Compute>
nb::object Fused::attempt(Direction direction, bool must, const Compute& compute) {
  nb::object why;
  try {
    Attempt found = compute();
    if (found.why.is_none()) {
      take_(direction == Direction::forward ? "forward" : "backward");
      return found.results;
    }
    why = found.why;
  } catch (const Error& e) {
    if (must || (e.status() != RAPT_INVALID_ARGUMENT && e.status() != RAPT_UNSUPPORTED)) throw;
    why = nb::str(e.what());
  } catch (const nb::python_error& e) {
    if (must || !(e.matches(PyExc_ValueError) || e.matches(PyExc_NotImplementedError))) throw;
    why = nb::str(e.value());
  }
  counts_.attr("refuse")(nb::str((name_ + ": ").c_str()) + why);
  return nb::none();
}

void Fused::set(Call& call, nb::handle q, nb::handle k, nb::handle v, nb::handle bias, bool causal,
                nb::handle scale) const {
  call.tensors.set_heads_first();
  Attention& attention = call.attention;
  attention.q = call.tensors.take_sequences(q, "q", Access::read);
  attention.k = call.tensors.take_sequences(k, "k", Access::read);
  attention.v = call.tensors.take_sequences(v, "v", Access::read);
  attention.bias = call.tensors.take_optional(bias, "bias", Access::read);
  for (const Tensor* x : {&attention.q, &attention.k, &attention.v})
    if (x->c().ndim != 4) invalid("q, k and v must have four dimensions");
  if (causal) attention.causal = RAPT_CAUSAL_TOP_LEFT;
  if (!scale.is_none()) attention.softmax_scale = number<double>(scale, "scale");
  call.execution.backend = backend_;
  call.execution.deterministic = is_true(deterministic_()) && !is_true(only_warns_());
}

// Why the call is left to torch although Rapt could take it, or None.
nb::object Fused::why_not(Direction direction, const Call& call, nb::handle q, nb::handle k, bool has_dropout,
                          bool alone) {
  if (direction == Direction::forward && name_ != "flash" && !is_true(uses_flash_())) return side_.attr("ASKED_FOR");
  if (call.tensors.device().type == RAPT_CPU || is_true(counts_.attr("always"))) return nb::none();
  const Verdict& found = verdict(direction, call, q, k, has_dropout, alone);
  return found.why.is(found.why_captured) || !captured(call) ? found.why : found.why_captured;
}

const Fused::Verdict& Fused::verdict(Direction direction, const Call& call, nb::handle q, nb::handle k,
                                     bool has_dropout, bool alone) {
  const Attention& a = call.attention;
  const bool has_bias = a.bias.has_value(), causal = a.causal != RAPT_NOT_CAUSAL;
  const bool backward = direction == Direction::backward;
  const int64_t flags = backward | has_bias << 1 | has_dropout << 2 | causal << 3 | alone << 4;
  const Key key = {flags,           call.tensors.device().id, dtype_of(a.q),   size_of(a.q, 0), size_of(a.q, 1),
                   size_of(a.q, 2), size_of(a.q, 3),          size_of(a.k, 1), size_of(a.k, 2)};
  if (const auto known = verdicts_.find(key); known != verdicts_.end()) return known->second;
  if (verdicts_.size() == 4096) verdicts_.clear();  // a long run must not remember every shape
  const nb::object both =
      side_.attr("why_torch_computes")(backward ? "backward" : "forward", q, k, has_bias, has_dropout, causal, alone);
  return verdicts_[key] = {.why = both[0], .why_captured = both[1]};
}

bool Fused::captured(const Call& call) const { return call.tensors.device().type != RAPT_CPU && is_true(capturing_()); }

nb::object Fused::empty(nb::handle sizes, nb::handle dtype, nb::handle like) const {
  return empty_(sizes, nb::arg("dtype") = dtype, nb::arg("device") = like.attr("device"));
}

nb::object Fused::new_out(const Call& call, nb::handle q) const {
  const Tensor &query = call.attention.q, &value = call.attention.v;
  const int64_t head_dim = size_of(value, 3);
  if (!results_.new_out.is_none()) return results_.new_out(q, head_dim);
  if (has_contiguous_rows(query) && size_of(query, 3) == head_dim) return empty_like_(q);
  return side_.attr("empty_result")(q, head_dim);
}

// Like a kept tensor of one element, expanded: empty_like() costs the host half of what empty() does. A captured graph
// can make none to keep.
nb::object Fused::new_lse(const Call& call, nb::handle q) {
  const Tensor& query = call.attention.q;
  const int64_t multiple = results_.lse_multiple;
  const int64_t padded = (size_of(query, 1) + multiple - 1) / multiple * multiple;
  const rapt_device device = call.tensors.device();
  const LseKey key = {device.type, device.id, size_of(query, 0), size_of(query, 2), padded};
  if (const auto known = lse_likes_.find(key); known != lse_likes_.end()) return empty_like_(known->second);
  const auto [_, id, batch, heads, rows] = key;
  const nb::tuple sizes =
      results_.lse_column ? nb::make_tuple(batch, heads, rows, 1) : nb::make_tuple(batch, heads, rows);
  if (captured(call)) return empty(sizes, fp32_, q);
  if (lse_likes_.size() == 4096) lse_likes_.clear();  // a long run must not remember every shape
  return empty_like_(lse_likes_[key] = side_.attr("expanded")(q, sizes));
}

// The same tensors in each call. A captured graph that returns them must own their memory, and can make none to keep.
nb::object Fused::unread(const Call& call, nb::handle q, bool is_returned) {
  const rapt_device device = call.tensors.device();
  nb::object& kept = kept_[{device.type, device.id, dtype_of(call.attention.q)}];
  if ((is_returned || !kept.is_valid()) && captured(call)) return side_.attr("made")(results_.unread, q);
  if (!kept.is_valid()) kept = side_.attr("kept")(results_.unread, q);
  return kept;
}

void define_fused(nb::module_& m) {
  nb::class_<Fused>(m, "Fused")
      .def(
          "__init__",
          [](Fused* self, std::string name, nb::object counts, nb::object side, nb::object unread, nb::object new_out,
             int64_t lse_multiple, bool lse_column) {
            new (self) Fused(std::move(name), {lse_multiple, lse_column, std::move(unread), std::move(new_out)},
                             std::move(counts), std::move(side));
          },
          nb::arg("name"), nb::arg("counts"), nb::arg("side"), nb::arg("unread"), nb::arg("new_out").none(),
          nb::arg("lse_multiple"), nb::arg("lse_column"))
      .def("forward", &Fused::forward, nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("bias").none(),
           nb::arg("dropout"), nb::arg("causal"), nb::arg("scale").none(), nb::arg("wants_lse"))
      .def("backward", &Fused::backward, nb::arg("dout"), nb::arg("q"), nb::arg("k"), nb::arg("v"),
           nb::arg("bias").none(), nb::arg("out"), nb::arg("lse"), nb::arg("dropout"), nb::arg("seed").none(),
           nb::arg("causal"), nb::arg("scale").none(), nb::arg("wanted"));
}

}  // namespace rapt::python
