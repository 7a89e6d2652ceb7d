// Operands for matrix instructions of every form: small numbers of the element types, so that no result is a NaN.
#pragma once

#include "sim/tests/support/matrix_reference.hpp"
#include "sim/tests/support/vop/bench.hpp"

namespace rapt::sim::test {

// Those of an architecture except for F8F6F4, whose cbsz and blgp name formats (matrix_scaled_test.cpp).
std::vector<VopForm> matrix_forms(Arch arch);
MatrixName matrix_name(const VopForm& form);

// Rows of A, B and C; sparse: of A, B and the indices.
using Rows = std::vector<std::uint32_t>;
std::vector<Rows> small_operands(const VopForm& form);
// The accumulator, in D's rows: C, or D itself if the operation is sparse.
Rows small_accumulator(const VopForm& form);

// How many sets of indices a lane's register holds.
unsigned index_sets(const VopForm& form);
// The indices with another set in place of the first.
Rows with_set_first(const VopForm& form, Rows indices, unsigned set);

}  // namespace rapt::sim::test
