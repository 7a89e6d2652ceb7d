// Hints of packed and matrix operations.
#include "sim/tests/support/bits/hints.hpp"

#include "sim/isa/cdna/decode.hpp"
#include "sim/machine/matrix/ops.hpp"

#include <algorithm>

namespace rapt::sim::test {
namespace {

bool no_source1(const FormOf& f, unsigned) { return f.sources() < 2; }
bool no_source2(const FormOf& f, unsigned) { return f.sources() < 3; }
bool integers(const FormOf& f, unsigned) { return !is_float(f.row().src[0]); }

// MFMA: blocks of A that are multiplied at once. SMFMAC: sets of indices in a register, two bits for each element of A.
unsigned choices(const FormOf& f) {
  const auto op = std::find_if(matrix::ops.begin(), matrix::ops.end(), [&](const matrix::Op& o) {
    return o.name == f.row().name && contains(o.archs, f.arch);
  });
  if (op->family == matrix::Family::mfma) return op->a == matrix::Element::f64 ? 1 : op->shape.blocks;
  if (op->family != matrix::Family::smfmac) return 16;  // f8f6f4: the fields have another meaning
  const bool bytes = op->a == matrix::Element::i8 || op->a == matrix::Element::fp8 || op->a == matrix::Element::bf8;
  return 32 / (2 * (bytes ? 4 : 2) * dwords(f.row().src[0], 64));
}
bool one_choice(const FormOf& f, unsigned) { return choices(f) == 1; }
bool beyond_choices(const FormOf& f, unsigned bit) { return choices(f) >> (bit + 1) == 0; }

constexpr std::string_view unused = "an operand that the operation does not have";
constexpr std::string_view no_halves = "the half, or byte, of an operand that has only one";
constexpr std::string_view no_overflow = "a result that is an integer and cannot leave its range";
constexpr std::string_view vop3p = "ISA documents, \"VOP3P\"; VOPInstructions.td";
constexpr std::string_view halves = "RDNA4 ISA 7.1, OPSEL is for 16-bit operands, and 7.7; CDNA4 ISA 6.2.1";
constexpr std::string_view output = "CDNA4 ISA 6.2.2, RDNA3 ISA 7.2.3.1: output modifiers";
constexpr std::string_view mai = "CDNA3 ISA, \"Matrix Arithmetic Instructions\": CBSZ and ABID";

constexpr Hint hints[] = {
    {.layouts = "VOP3P*", .fields = "src1", .when = no_source1, .why = unused, .source = vop3p},
    {.layouts = "VOP3P*", .fields = "src2", .when = no_source2, .why = unused, .source = vop3p},
    {.layouts = "VOP3P*",
     .fields = "neg|neg_hi",
     .rows = "v_pk_*_?16|v_pk_mov_b32|v_dot2_?32_?16|v_dot4_?32_?8|v_dot8_?32_?4",
     .when = integers,
     .why = "no float sources",
     .source = "RDNA4 ISA 7.7: NEG and NEG_HI are for float inputs; CDNA4 ISA 6.2.1"},
    {.layouts = "VOP3P*",
     .fields = "neg_hi",
     .rows = "v_dot4_i32_iu8|v_dot8_i32_iu4|v_wmma_i32_*",
     .why = "neg says which sources are signed; neg_hi is undefined",
     .source = "RDNA4 ISA 7.7; RDNA3 ISA, V_DOT4_I32_IU8"},
    {.layouts = "VOP3P*",
     .fields = "neg",
     .first = 2,
     .rows = "v_dot4_i32_iu8|v_dot8_i32_iu4|v_wmma_i32_*",
     .why = "an accumulator of 32 bits is always signed; its neg is undefined",
     .source = "RDNA4 ISA 7.7; RDNA3 ISA, V_DOT4_I32_IU8"},
    {.layouts = "VOP3P*", .fields = "op_sel_hi2", .when = no_source2, .why = unused, .source = vop3p},
    {.layouts = "VOP3P*",
     .fields = "neg_hi|op_sel",
     .first = 2,
     .rows = "v_dot2_*",
     .why = "an accumulator of 32 bits has no halves",
     .source = halves},
    {.layouts = "VOP3P*", .fields = "op_sel_hi2", .rows = "v_dot*|v_wmma_*", .why = no_halves, .source = halves},
    {.layouts = "VOP3P*",
     .fields = "op_sel_hi",
     .rows = "v_dot4_*|v_dot8_*|v_wmma_*|v_accvgpr_*",
     .why = no_halves,
     .source = halves},
    {.layouts = "VOP3P*",
     .fields = "op_sel_hi",
     .rows = "v_pk_mov_b32",
     .why = "op_sel names the dword of each source",
     .source = "CDNA3 ISA, V_PK_MOV_B32"},
    {.layouts = "VOP3P",
     .fields = "op_sel",
     .last = 1,
     .rows = "v_wmma_*f16_16x16x16_*",
     .archs = gfx11,
     .why = "A and B are whole registers; op_sel[2] names the half of C and D",
     .source = "RDNA3 ISA, V_WMMA_F16_16X16X16_F16"},

    {.layouts = "VOP3P",
     .fields = "op_sel",
     .first = 1,
     .last = 1,
     .rows = "v_swmmac_i32_16x16x32_iu4",
     .archs = gfx12,
     .why = "A is in 32 lanes even of 64, so that a register has two sets of indices, not four",
     .source = "RDNA4 ISA, \"Sparse matrices\"; AMDGPUAsmParser.cpp takes only index_key 0 and 1"},

    // MFMA, SMFMAC
    {.layouts = "VOP3P-MAI with scales",
     .fields = "prefix *",
     .why = "of the prefix only the scales and their op_sel count",
     .source = "CDNA4 ISA, V_MFMA_LD_SCALE_B32; VOPInstructions.td, VOP3PXe"},
    {.layouts = "VOP3P-MAI",
     .fields = "acc_cd",
     .archs = only(Arch::gfx908),
     .why = "C and D are in AGPRs always",
     .source = "MI100 ISA, \"VOP3P-MAI\""},
    {.layouts = "VOP3P-MAI",
     .fields = "cbsz|abid",
     .when = one_choice,
     .why = "one block of A, or one set of indices: nothing to choose; and doubles, for which AMD's matrix calculator "
            "has none",
     .source = mai},
    {.layouts = "VOP3P-MAI",
     .fields = "abid",
     .when = beyond_choices,
     .why = "as many bits as there are blocks, or sets of indices, to choose from",
     .source = mai},
    {.layouts = "VOP3P*",
     .fields = "clamp",
     .rows = "v_dot2_f32_*",
     .archs = rdna,
     .why = "float dot products ignore it",
     .source = "RDNA3 and RDNA4 ISA 7.2.3.1"},
    {.layouts = "VOP3P*",
     .fields = "clamp",
     .rows = "v_pk_mul_lo_u16|v_pk_*rev_?16|v_pk_max_?16|v_pk_min_?16|v_pk_mov_b32|v_accvgpr_*",
     .when = integers,
     .why = no_overflow,
     .source = output},
};

}  // namespace

std::span<const Hint> packed_hints() { return hints; }

}  // namespace rapt::sim::test
