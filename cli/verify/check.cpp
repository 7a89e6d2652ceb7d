#include "cli/verify/check.hpp"

namespace rapt::cli {

namespace {

std::vector<CheckRow> named(std::vector<CheckRow> rows, const std::string& backend, const Explanation& e) {
  for (CheckRow& row : rows) {
    row.backend = backend;
    if (const Candidate* c = e.chosen()) row.kernel = c->kernel;
  }
  return rows;
}

}  // namespace

Checker::Checker(const Problem& problem, const Attention& attention, bool backward, const rapt_executor* executor,
                 rapt_device device)
    : a_(attention),
      executor_(executor),
      device_(device),
      deterministic_(problem.c().deterministic != 0),
      gradients_(problem.c().gradients),
      a64_(attention.converted(kFp64)),
      largest_logit_(largest_logit(problem.c(), attention)),
      plain_(a_),
      exact_(a64_) {
  const Execution math{.backend = "math", .executor = executor_};
  rapt::forward(a_.view(), plain_.out.tensor(), plain_.lse.tensor(), math);
  rapt::forward(a64_.view(), exact_.out.tensor(), exact_.lse.tensor(), math);
  if (!backward) return;
  dout_ = plain_.out.converted(plain_.out.dtype());
  fill_normal(*dout_, a_.seed, kDoutStream);
  const Array dout64 = dout_->converted(kFp64);
  const Array out64 = (gradients_of_plain_out(a_.q.dtype()) ? plain_.out : exact_.out).converted(kFp64);
  lse_ = exact_.lse.converted(plain_.lse.dtype());
  plain_gradients_.emplace(a_);
  exact_gradients_.emplace(a64_);
  rapt::backward(a_.view(), plain_.out.tensor(), lse_->tensor(), dout_->tensor(), plain_gradients_->view(), math);
  rapt::backward(a64_.view(), out64.tensor(), exact_.lse.tensor(), dout64.tensor(), exact_gradients_->view(), math);
}

CheckRow Checker::compare(rapt_op op, const char* tensor, const Array& x, const Array& plain,
                          const Array& exact) const {
  CheckRow row{measure(tensor, x, plain, exact, largest_logit_)};
  row.op = op;
  return row;
}

Execution Checker::how(const std::string& backend) const {
  return {.backend = backend, .deterministic = deterministic_, .allow_math = true, .executor = executor_};
}

std::vector<CheckRow> Checker::check_forward(const std::string& backend) const {
  const Execution execution = how(backend);
  Placement place(device_);
  const rapt::Attention attention = a_.view(place);
  Forward results(a_);
  const Tensor out = place.out(results.out);
  rapt::forward(attention, out, place.out(results.lse), execution);
  place.fetch();
  return named({compare(RAPT_FORWARD, "out", results.out, plain_.out, exact_.out),
                compare(RAPT_FORWARD, "lse", results.lse, plain_.lse, exact_.lse)},
               backend, explain(attention, out, execution));
}

std::vector<CheckRow> Checker::check_backward(const std::string& backend) const {
  const Execution execution = how(backend);
  Placement place(device_);
  const rapt::Attention attention = a_.view(place);
  Gradients g(a_);
  const Tensor plain_out = place.in(plain_.out), lse = place.in(*lse_), dout = place.in(*dout_);
  const rapt::Gradients gradients = g.view(place, gradients_);
  rapt::backward(attention, plain_out, lse, dout, gradients, execution);
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
  return named(std::move(rows), backend, explain(attention, plain_out, lse, dout, gradients, execution));
}

}  // namespace rapt::cli
