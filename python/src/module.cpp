// rapt._core: the C++ API for Python objects, without conveniences. rapt/__init__.py has those.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "call.hpp"
#include "fused.hpp"
#include "information.hpp"

namespace rapt::python {

namespace {

void run_forward(nb::handle q, nb::handle k, nb::handle v, nb::handle out, nb::handle lse, const nb::kwargs& options) {
  Call call(q, k, v, options);
  const Tensor result = call.tensors.take_sequences(out, "out", Access::write);
  const std::optional<Tensor> sums = call.tensors.take_optional(lse, "lse", Access::write);
  call.run([&] { forward(call.attention, result, sums, call.execution); });
}

// The mean seconds of the C call alone, after tensors and options are converted. Overheads are measured against it.
double time_forward(nb::handle q, nb::handle k, nb::handle v, nb::handle out, int calls, const nb::kwargs& options) {
  Call call(q, k, v, options);
  const Tensor result = call.tensors.take(out, "out", Access::write);
  const auto start = std::chrono::steady_clock::now();
  call.run([&] {
    for (int i = 0; i < calls; ++i) forward(call.attention, result, std::nullopt, call.execution);
  });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

// The tensors of a backward call other than q, k, v and the options.
struct BackwardTensors {
  Tensor out, lse, dout;
  Gradients gradients;
};

BackwardTensors take_backward(Tensors& tensors, nb::handle out, nb::handle lse, nb::handle dout, nb::handle dq,
                              nb::handle dk, nb::handle dv, nb::handle dbias, nb::handle dsink) {
  return {.out = tensors.take_sequences(out, "out", Access::read),
          .lse = tensors.take(lse, "lse", Access::read),
          .dout = tensors.take_sequences(dout, "dout", Access::read),
          .gradients = {.dq = tensors.take_optional_sequences(dq, "dq", Access::write),
                        .dk = tensors.take_optional_sequences(dk, "dk", Access::write),
                        .dv = tensors.take_optional_sequences(dv, "dv", Access::write),
                        .dbias = tensors.take_optional(dbias, "dbias", Access::write),
                        .dsink = tensors.take_optional(dsink, "dsink", Access::write)}};
}

void run_backward(nb::handle q, nb::handle k, nb::handle v, nb::handle out, nb::handle lse, nb::handle dout,
                  nb::handle dq, nb::handle dk, nb::handle dv, nb::handle dbias, nb::handle dsink,
                  const nb::kwargs& options) {
  Call call(q, k, v, options);
  const BackwardTensors t = take_backward(call.tensors, out, lse, dout, dq, dk, dv, dbias, dsink);
  call.run([&] { backward(call.attention, t.out, t.lse, t.dout, t.gradients, call.execution); });
}

nb::tuple as_tuple(const Explanation& explanation) {
  nb::list candidates;
  for (const Candidate& c : explanation.candidates)
    candidates.append(nb::make_tuple(c.backend, c.kernel, c.chosen, c.reason));
  return nb::make_tuple(explanation.problem, candidates);
}

nb::tuple explain_forward(nb::handle q, nb::handle k, nb::handle v, nb::handle out, const nb::kwargs& options) {
  Call call(q, k, v, options);
  return as_tuple(explain(call.attention, call.tensors.take_sequences(out, "out", Access::write), call.execution));
}

nb::tuple explain_backward(nb::handle q, nb::handle k, nb::handle v, nb::handle out, nb::handle lse, nb::handle dout,
                           nb::handle dq, nb::handle dk, nb::handle dv, nb::handle dbias, nb::handle dsink,
                           const nb::kwargs& options) {
  Call call(q, k, v, options);
  const BackwardTensors t = take_backward(call.tensors, out, lse, dout, dq, dk, dv, dbias, dsink);
  return as_tuple(explain(call.attention, t.out, t.lse, t.dout, t.gradients, call.execution));
}

nb::tuple explain_text(const std::string& problem, bool is_backward, std::pair<int32_t, int32_t> device,
                       const nb::kwargs& options) {
  return as_tuple(explain(Problem::parse(problem), is_backward ? RAPT_BACKWARD : RAPT_FORWARD, parse_execution(options),
                          {device.first, device.second}));
}

double problem_flops(const std::string& problem, bool is_backward) {
  return flops(Problem::parse(problem), is_backward ? RAPT_BACKWARD : RAPT_FORWARD);
}

size_t forward_workspace(nb::handle q, nb::handle k, nb::handle v, nb::handle out, const nb::kwargs& options) {
  Call call(q, k, v, options);
  return forward_workspace_size(call.attention, call.tensors.take_sequences(out, "out", Access::write), call.execution);
}

size_t backward_workspace(nb::handle q, nb::handle k, nb::handle v, nb::handle out, nb::handle lse, nb::handle dout,
                          nb::handle dq, nb::handle dk, nb::handle dv, nb::handle dbias, nb::handle dsink,
                          const nb::kwargs& options) {
  Call call(q, k, v, options);
  const BackwardTensors t = take_backward(call.tensors, out, lse, dout, dq, dk, dv, dbias, dsink);
  return backward_workspace_size(call.attention, t.out, t.lse, t.dout, t.gradients, call.execution);
}

nb::tuple shape(nb::handle object, const std::string& name) {
  Tensors tensors;
  const Tensor tensor = tensors.take(object, name.c_str(), Access::read);
  nb::list sizes;
  for (int i = 0; i < tensor.c().ndim; ++i) sizes.append(tensor.c().shape[i]);
  return nb::tuple(sizes);
}

// Uninitialised memory on the device of `like`, in its type or its lse's type, as an object with __dlpack__.
nb::ndarray<nb::array_api> empty(const std::vector<size_t>& shape, nb::handle like, bool is_lse) {
  Tensors tensors;
  const Tensor given = tensors.take(like, "like", Access::read);
  const rapt_tensor tensor = given.c();
  const rapt_dtype dtype = is_lse && tensor.dtype.bits < 32 ? kFp32 : tensor.dtype;
  size_t bytes = dtype.bits / 8;
  for (const size_t size : shape) bytes *= size;
  auto* memory = new DeviceMemory(tensor.device, std::max<size_t>(bytes, 1));
  const nb::capsule owner(memory, [](void* pointer) noexcept { delete static_cast<DeviceMemory*>(pointer); });
  return nb::ndarray<nb::array_api>(memory->data(), shape.size(), shape.data(), owner, nullptr,
                                    {dtype.code, dtype.bits, dtype.lanes}, tensor.device.type, tensor.device.id);
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& e) {
    const rapt_status status = e.status();
    PyErr_SetString(status == RAPT_INVALID_ARGUMENT ? PyExc_ValueError
                    : status == RAPT_UNSUPPORTED    ? PyExc_NotImplementedError
                                                    : PyExc_RuntimeError,
                    e.what());
  }
}

}  // namespace

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // torch's dispatcher keeps kernels until the process ends
  nb::register_exception_translator(translate);
  m.attr("version") = rapt_version_string();

  m.def("forward", run_forward, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(), nb::arg("out"),
        nb::arg("lse") = nb::none(), nb::arg("options"));
  m.def("forward_workspace", forward_workspace, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
        nb::arg("out"), nb::arg("options"));
  m.def("time_forward", time_forward, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(), nb::arg("out"),
        nb::arg("calls"), nb::arg("options"));
  m.def("explain_forward", explain_forward, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
        nb::arg("out"), nb::arg("options"));

  const auto def_backward = [&](const char* name, auto function) {
    m.def(name, function, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(), nb::arg("out").none(),
          nb::arg("lse").none(), nb::arg("dout").none(), nb::arg("dq") = nb::none(), nb::arg("dk") = nb::none(),
          nb::arg("dv") = nb::none(), nb::arg("dbias") = nb::none(), nb::arg("dsink") = nb::none(), nb::arg("options"));
  };
  def_backward("backward", run_backward);
  def_backward("backward_workspace", backward_workspace);
  def_backward("explain_backward", explain_backward);

  m.def("explain_problem", explain_text, nb::arg("problem"), nb::arg("backward"), nb::arg("device"),
        nb::arg("options"));
  m.def("problem_flops", problem_flops, nb::arg("problem"), nb::arg("backward"));
  m.def("empty", empty, nb::arg("shape"), nb::arg("like"), nb::arg("is_lse"));
  m.def("shape", shape, nb::arg("object").none(), nb::arg("name"));
  define_information(m);
  define_fused(m);
}

}  // namespace rapt::python
