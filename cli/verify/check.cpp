#include "cli/verify/check.hpp"

#include <fmt/format.h>

namespace rapt::cli {

namespace {

std::vector<CheckRow> named(std::vector<CheckRow> rows, const std::string& backend, const std::string& kernel) {
  for (CheckRow& row : rows) row.backend = backend, row.kernel = kernel;
  return rows;
}

std::string chosen(const Explanation& e) { return e.chosen() ? e.chosen()->kernel : ""; }

}  // namespace

std::string with_gradients(const std::string& problem, const Attention& a) {
  if (!(a.bias || a.sink) || problem.find(" grads=") != std::string::npos) return problem;
  return fmt::format("{} grads=dq,dk,dv{}{}", problem, a.bias ? ",dbias" : "", a.sink ? ",dsink" : "");
}

Checker::Checker(const Problem& problem, const Attention& attention, bool backward, const rapt_executor* executor,
                 rapt_device device)
    : a_(attention),
      executor_(executor),
      device_(device),
      deterministic_(problem.c().deterministic != 0),
      gradients_(problem.c().gradients),
      a64_(attention.converted(kFp64)),
      plain_(a_),
      exact_(a64_) {
  const Execution math{.backend = "math", .executor = executor_};
  rapt::forward(a_.view(), plain_.out.tensor(), plain_.lse.tensor(), math);
  rapt::forward(a64_.view(), exact_.out.tensor(), exact_.lse.tensor(), math);
  if (backward) {
    dout_ = plain_.out.converted(plain_.out.dtype());
    fill_normal(*dout_, a_.seed, kDoutStream);
  }
  const bool rounded = gradients_of_plain_out(a_.q.dtype());
  bounds_ =
      bounds_of(problem.c(), attention, backward ? &*dout_ : nullptr, backward && rounded ? &plain_.out : nullptr);
  if (!backward) return;
  const Array dout64 = dout_->converted(kFp64);
  const Array out64 = (rounded ? plain_.out : exact_.out).converted(kFp64);
  lse_ = exact_.lse.converted(plain_.lse.dtype());
  plain_gradients_.emplace(a_);
  exact_gradients_.emplace(a64_);
  rapt::backward(a_.view(), plain_.out.tensor(), lse_->tensor(), dout_->tensor(), plain_gradients_->view(), math);
  rapt::backward(a64_.view(), out64.tensor(), exact_.lse.tensor(), dout64.tensor(), exact_gradients_->view(), math);
}

CheckRow Checker::compare(rapt_op op, const char* tensor, const Array& x, const Array& plain,
                          const Array& exact) const {
  CheckRow row{measure(tensor, x, plain, exact, bounds_)};
  row.op = op;
  return row;
}

Execution Checker::how(const std::string& backend) const {
  return {.backend = backend, .deterministic = deterministic_, .allow_math = true, .executor = executor_};
}

std::vector<CheckRow> Checker::check_forward(const std::string& backend) const {
  std::string kernel;
  const auto rows = forward_rows([&](const rapt::Attention& attention, const Tensor& out, const Tensor& lse) {
    const Execution execution = how(backend);
    rapt::forward(attention, out, lse, execution);
    kernel = chosen(explain(attention, out, execution));
  });
  return named(rows, backend, kernel);
}

std::vector<CheckRow> Checker::check_backward(const std::string& backend) const {
  std::string kernel;
  const auto rows = backward_rows([&](const rapt::Attention& attention, const Tensor& out, const Tensor& lse,
                                      const Tensor& dout, const rapt::Gradients& gradients) {
    const Execution execution = how(backend);
    rapt::backward(attention, out, lse, dout, gradients, execution);
    kernel = chosen(explain(attention, out, lse, dout, gradients, execution));
  });
  return named(rows, backend, kernel);
}

std::vector<CheckRow> Checker::forward_rows(const ForwardCall& call) const {
  Placement place(device_);
  const rapt::Attention attention = a_.view(place);
  Forward results(a_);
  const Tensor out = place.out(results.out), lse = place.out(results.lse);
  call(attention, out, lse);
  place.fetch();
  return {compare(RAPT_FORWARD, "out", results.out, plain_.out, exact_.out),
          compare(RAPT_FORWARD, "lse", results.lse, plain_.lse, exact_.lse)};
}

std::vector<CheckRow> Checker::backward_rows(const BackwardCall& call) const {
  Placement place(device_);
  const rapt::Attention attention = a_.view(place);
  Gradients g(a_);
  const Tensor plain_out = place.in(plain_.out), lse = place.in(*lse_), dout = place.in(*dout_);
  const rapt::Gradients gradients = g.view(place, gradients_);
  call(attention, plain_out, lse, dout, gradients);
  place.fetch();
  std::vector<CheckRow> rows;
  const auto gradient = [&](const char* tensor, const Array& x, const Array& plain, const Array& exact) {
    rows.push_back(compare(RAPT_BACKWARD, tensor, x, plain, exact));
  };
  if (gradients.dq) gradient("dq", g.dq, plain_gradients_->dq, exact_gradients_->dq);
  if (gradients.dk) gradient("dk", g.dk, plain_gradients_->dk, exact_gradients_->dk);
  if (gradients.dv) gradient("dv", g.dv, plain_gradients_->dv, exact_gradients_->dv);
  if (gradients.dbias) gradient("dbias", g.dbias, plain_gradients_->dbias, exact_gradients_->dbias);
  if (gradients.dsink) gradient("dsink", g.dsink, plain_gradients_->dsink, exact_gradients_->dsink);
  return rows;
}

}  // namespace rapt::cli
