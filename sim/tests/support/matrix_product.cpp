#include "sim/tests/support/matrix_product.hpp"

#include <stdexcept>

namespace rapt::sim::test {

namespace {

Operand registers(OperandKind kind, unsigned index) {
  Operand o;
  o.kind = kind;
  o.index = static_cast<std::uint16_t>(index);
  return o;
}

}  // namespace

Operand vgprs(unsigned index) { return registers(OperandKind::vgpr, index); }
Operand agprs(unsigned index) { return registers(OperandKind::agpr, index); }
Operand constant(std::uint64_t bits) {
  Operand o;
  o.kind = OperandKind::constant;
  o.value = bits;
  return o;
}

MatrixProduct::MatrixProduct(const MatrixName& m)
    : m_(m), w_(m.arch, m.lanes), handler_(tested_handler(m.name, m.arch, m.lanes)) {
  if (handler_ == nullptr) throw std::runtime_error("no handler for " + m.name);
  instruction.dst = vgprs(d_register);
  instruction.src[0] = vgprs(a_register);
  instruction.src[1] = vgprs(b_register);
  instruction.src[2] = vgprs(m.sparse ? index_register : c_register);
  w_.fill(index_register, 0x99999999);
}

void MatrixProduct::set_a(unsigned block, unsigned i, unsigned k, std::uint64_t bits) {
  for (const Place p : place_a(m_, block, i, k)) put(w_, a_register, p, type_bits(m_.a), bits);
}
void MatrixProduct::set_b(unsigned block, unsigned k, unsigned j, std::uint64_t bits) {
  for (const Place p : place_b(m_, block, k, j)) put(w_, b_register, p, type_bits(m_.b), bits);
}
void MatrixProduct::set_c(unsigned block, unsigned i, unsigned j, std::uint64_t bits) {
  put(w_, m_.sparse ? d_register : c_register, place_d(m_, block, i, j), type_bits(m_.d), bits);
}
std::uint64_t MatrixProduct::d(unsigned block, unsigned i, unsigned j) {
  return get(w_, d_register, place_d(m_, block, i, j), type_bits(m_.d));
}
void MatrixProduct::run() { handler_(w_.wave(), instruction); }

}  // namespace rapt::sim::test
