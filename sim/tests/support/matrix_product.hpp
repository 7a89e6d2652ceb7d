// A matrix instruction built by hand, with operands set and the result read element by element.
#pragma once

#include "sim/tests/support/matrix_reference.hpp"

namespace rapt::sim::test {

class MatrixProduct {
 public:
  explicit MatrixProduct(const MatrixName& m);

  Instruction instruction;  // to change: modifiers, other registers
  OneWave& wave() { return w_; }
  const MatrixName& name() const { return m_; }

  // Bits of elements; for a sparse A the stored ones.
  void set_a(unsigned block, unsigned i, unsigned k, std::uint64_t bits);
  void set_b(unsigned block, unsigned k, unsigned j, std::uint64_t bits);
  void set_c(unsigned block, unsigned i, unsigned j, std::uint64_t bits);
  std::uint64_t d(unsigned block, unsigned i, unsigned j);
  void run();

  unsigned a_register = 0, b_register = 16, c_register = 32, d_register = 64, index_register = 100;

 private:
  MatrixName m_;
  OneWave w_;
  Handler handler_;
};

Operand vgprs(unsigned index);
Operand agprs(unsigned index);
Operand constant(std::uint64_t bits);

}  // namespace rapt::sim::test
