// CDNA's encodings (CDNA, CDNA2 and CDNA3 ISA documents, chapter "Microcode formats").
#include "sim/tests/support/bits/word_layouts_fields.hpp"

namespace rapt::sim::test {
namespace {

using namespace fields;
using enum Suffix;

constexpr ArchSet gfx94 = only(Arch::gfx942) | only(Arch::gfx950);
constexpr ArchSet before_gfx94 = cdna & ~gfx94;
constexpr ArchSet from_90a = cdna & ~before_gfx90a;

const Fields smem = {{"sbase", 0, 6, base},      {"sdata", 6, 7, sgpr},   {"soffset_en", 14, 1, form},
                     {"nv", 15, 1, modifier},    {"glc", 16, 1, any},     {"imm", 17, 1, form},
                     {"offset", 32, 21, offset}, {"soffset", 57, 7, sgpr}};

const Fields mai = {{"vdst", 0, 8, vgpr},    {"cbsz", 8, 3, modifier}, {"abid", 11, 4, modifier},
                    {"acc_cd", 15, 1, any},  {"src0", 32, 9, source},  {"src1", 41, 9, source},
                    {"src2", 50, 9, source}, {"acc", 59, 2, any},      {"blgp", 61, 3, modifier}};
// The scales' prefix, then the operation.
const Fields scaled_mai = {{"prefix vdst", 0, 8, modifier},
                           {"prefix neg_hi", 8, 3, modifier},
                           {"scale_sel", 11, 2, modifier},
                           {"prefix op_sel2", 13, 1, modifier},
                           {"prefix op_sel_hi2", 14, 1, modifier},
                           {"prefix clamp", 15, 1, modifier},
                           {"scale0", 32, 9, source},
                           {"scale1", 41, 9, source},
                           {"prefix src2", 50, 9, modifier},
                           {"scale_sel_hi", 59, 2, modifier},
                           {"prefix neg", 61, 3, modifier},
                           {"vdst", 64, 8, vgpr},
                           {"cbsz", 72, 3, modifier},
                           {"abid", 75, 4, one},
                           {"acc_cd", 79, 1, any},
                           {"src0", 96, 9, source},
                           {"src1", 105, 9, source},
                           {"src2", 114, 9, source},
                           {"acc", 123, 2, any},
                           {"blgp", 125, 3, modifier}};

const Fields ds = {{"offset0", 0, 8, offset}, {"offset1", 8, 8, modifier}, {"gds", 16, 1, modifier},
                   {"acc", 25, 1, modifier},  {"addr", 32, 8, vgpr},       {"data0", 40, 8, vgpr},
                   {"data1", 48, 8, vgpr},    {"vdst", 56, 8, vgpr}};

// Bit 13 says "to LDS" until gfx90a; from gfx942 on, for SCRATCH, that there is a vector address.
Fields flat(std::string_view bit13) {
  return {{"offset", 0, 13, offset}, {bit13, 13, 1, form},  {"glc", 16, 1, any},   {"slc", 17, 1, any},
          {"scc", 25, 1, modifier},  {"addr", 32, 8, vgpr}, {"data", 40, 8, vgpr}, {"saddr", 48, 7, saddr},
          {"acc", 55, 1, modifier},  {"vdst", 56, 8, vgpr}};
}

// On gfx90a and later, bit 55 says that the data are in AGPRs.
Fields mubuf(std::string_view bit55) {
  return {{"offset", 0, 12, offset}, {"offen", 12, 1, form},   {"idxen", 13, 1, form},
          {"glc", 14, 1, any},       {"scc", 15, 1, modifier}, {"lds", 16, 1, form},
          {"slc", 17, 1, any},       {"vaddr", 32, 8, vgpr},   {"vdata", 40, 8, vgpr},
          {"srsrc", 48, 5, base},    {bit55, 55, 1, modifier}, {"soffset", 56, 8, scalar_source}};
}
Fields mtbuf(std::string_view bit55) {
  return {{"offset", 0, 12, offset},
          {"offen", 12, 1, form},
          {"idxen", 13, 1, form},
          {"glc", 14, 1, any},
          {"dfmt", 19, 4, any},
          {"nfmt", 23, 3, any},
          {"vaddr", 32, 8, vgpr},
          {"vdata", 40, 8, vgpr},
          {"srsrc", 48, 5, base},
          {"scc", 53, 1, modifier},
          {"slc", 54, 1, any},
          {bit55, 55, 1, modifier},
          {"soffset", 56, 8, scalar_source}};
}

const std::vector<LayoutRow> rows = {
    {Format::sop1, cdna, "SOP1", 0xbe800000, 8, 0, 1, sop1, {literal}},
    {Format::sop2, cdna, "SOP2", 0x80000000, 23, 0, 1, sop2, {literal}},
    {Format::sopc, cdna, "SOPC", 0xbf000000, 16, 0, 1, sopc, {literal}},
    {Format::sopk, cdna, "SOPK", 0xb0000000, 23, 0, 1, sopk},
    {Format::sopp, cdna, "SOPP", 0xbf800000, 16, 0, 1, {{"simm16", 0, 16, immediate}}},
    {Format::smem, cdna, "SMEM", 0xc0000000, 18, 0, 2, smem},
    {Format::vop1, cdna, "VOP1", 0x7e000000, 9, 0, 1, vop1, {literal, sdwa, dpp16}},
    {Format::vop2, cdna, "VOP2", 0x00000000, 25, 0, 1, vop2, {literal, sdwa, dpp16}},
    {Format::vopc, cdna, "VOPC", 0x7c000000, 17, 0, 1, vopc, {literal, sdwa}},
    {Format::vopc, cdna, "VOP3", 0xd0000000, 16, 0x000, 2, vop3},
    {Format::vop2, cdna, "VOP3", 0xd0000000, 16, 0x100, 2, vop3},
    {Format::vop1, cdna, "VOP3", 0xd0000000, 16, 0x140, 2, vop3},
    {Format::vop3, cdna, "VOP3", 0xd0000000, 16, 0x000, 2, vop3},
    {Format::vop3p, cdna, "VOP3P", 0xd3800000, 16, 0, 2, vop3p},
    {Format::ds, cdna, "DS", 0xd8000000, 17, 0, 2, ds},
    {Format::flat, before_gfx94, "FLAT", 0xdc000000, 18, 0, 2, flat("lds")},
    {Format::scratch, before_gfx94, "SCRATCH", 0xdc004000, 18, 0, 2, flat("lds")},
    {Format::global, before_gfx94, "GLOBAL", 0xdc008000, 18, 0, 2, flat("lds")},
    {Format::flat, gfx94, "FLAT", 0xdc000000, 18, 0, 2, flat("sve")},
    {Format::scratch, gfx94, "SCRATCH", 0xdc004000, 18, 0, 2, flat("sve")},
    {Format::global, gfx94, "GLOBAL", 0xdc008000, 18, 0, 2, flat("sve")},
    {Format::mubuf, before_gfx90a, "MUBUF", 0xe0000000, 18, 0, 2, mubuf("tfe")},
    {Format::mubuf, from_90a, "MUBUF", 0xe0000000, 18, 0, 2, mubuf("acc")},
    {Format::mtbuf, before_gfx90a, "MTBUF", 0xe8000000, 15, 0, 2, mtbuf("tfe")},
    {Format::mtbuf, from_90a, "MTBUF", 0xe8000000, 15, 0, 2, mtbuf("acc")},
};

}  // namespace

const std::vector<LayoutRow>& gfx9_layouts() { return rows; }

const LayoutRow& gfx9_matrix_layout(bool with_scales) {
  static const LayoutRow plain = {Format::vop3p, cdna, "VOP3P-MAI", 0xd3800000, 16, 0, 2, mai};
  static const LayoutRow scaled = {Format::vop3p, cdna, "VOP3P-MAI with scales", 0xd3ac0000, 16, 0, 4, scaled_mai};
  return with_scales ? scaled : plain;
}

}  // namespace rapt::sim::test
