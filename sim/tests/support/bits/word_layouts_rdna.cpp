// gfx11's and gfx12's encodings (RDNA3 and RDNA4 ISA documents, chapter "Microcode formats").
#include "sim/tests/support/bits/word_layouts_fields.hpp"

namespace rapt::sim::test {
namespace {

using namespace fields;
using enum Suffix;

const Fields smem_gfx11 = {{"sbase", 0, 6, base}, {"sdata", 6, 7, sgpr},      {"dlc", 13, 1, any},
                           {"glc", 14, 1, any},   {"offset", 32, 21, offset}, {"soffset", 57, 7, saddr}};
const Fields smem_gfx12 = {
    {"sbase", 0, 6, base}, {"sdata", 6, 7, sgpr},      {"nv", 20, 1, modifier},           {"scope", 21, 2, any},
    {"th", 23, 2, any},    {"offset", 32, 24, offset}, {"scale_offset", 56, 1, modifier}, {"soffset", 57, 7, saddr}};

const Fields ds = {{"offset0", 0, 8, offset}, {"offset1", 8, 8, modifier}, {"gds", 17, 1, modifier},
                   {"addr", 32, 8, vgpr},     {"data0", 40, 8, vgpr},      {"data1", 48, 8, vgpr},
                   {"vdst", 56, 8, vgpr}};
const Fields flat_gfx11 = {{"offset", 0, 13, offset}, {"dlc", 13, 1, any},   {"glc", 14, 1, any},
                           {"slc", 15, 1, any},       {"addr", 32, 8, vgpr}, {"data", 40, 8, vgpr},
                           {"saddr", 48, 7, saddr},   {"sve", 55, 1, form},  {"vdst", 56, 8, vgpr}};
const Fields flat_gfx12 = {
    {"saddr", 0, 7, saddr}, {"nv", 7, 1, modifier},    {"vdst", 32, 8, vgpr}, {"scale_offset", 48, 1, modifier},
    {"sve", 49, 1, form},   {"scope", 50, 2, any},     {"th", 52, 3, any},    {"vsrc", 55, 8, vgpr},
    {"vaddr", 64, 8, vgpr}, {"offset", 72, 24, offset}};
const Fields mubuf_gfx11 = {{"offset", 0, 12, offset},
                            {"slc", 12, 1, any},
                            {"dlc", 13, 1, any},
                            {"glc", 14, 1, any},
                            {"vaddr", 32, 8, vgpr},
                            {"vdata", 40, 8, vgpr},
                            {"srsrc", 48, 5, base},
                            {"tfe", 53, 1, modifier},
                            {"offen", 54, 1, form},
                            {"idxen", 55, 1, form},
                            {"soffset", 56, 8, scalar_source}};
const Fields mtbuf_gfx11 = {{"offset", 0, 12, offset}, {"slc", 12, 1, any},    {"dlc", 13, 1, any},
                            {"glc", 14, 1, any},       {"format", 19, 7, any}, {"vaddr", 32, 8, vgpr},
                            {"vdata", 40, 8, vgpr},    {"srsrc", 48, 5, base}, {"tfe", 53, 1, modifier},
                            {"offen", 54, 1, form},    {"idxen", 55, 1, form}, {"soffset", 56, 8, scalar_source}};
const Fields vbuffer = {{"soffset", 0, 7, saddr}, {"nv", 7, 1, modifier}, {"tfe", 22, 1, modifier},
                        {"vdata", 32, 8, vgpr},   {"rsrc", 41, 7, base},  {"scope", 50, 2, any},
                        {"th", 52, 3, any},       {"format", 55, 7, any}, {"offen", 62, 1, form},
                        {"idxen", 63, 1, form},   {"vaddr", 64, 8, vgpr}, {"offset", 72, 24, offset}};

const std::vector<LayoutRow> rows = {
    {Format::sop1, rdna, "SOP1", 0xbe800000, 8, 0, 1, sop1, {literal}},
    {Format::sop2, rdna, "SOP2", 0x80000000, 23, 0, 1, sop2, {literal}},
    {Format::sopc, rdna, "SOPC", 0xbf000000, 16, 0, 1, sopc, {literal}},
    {Format::sopk, rdna, "SOPK", 0xb0000000, 23, 0, 1, sopk},
    {Format::sopp, rdna, "SOPP", 0xbf800000, 16, 0, 1, {{"simm16", 0, 16, immediate}}},
    {Format::smem, gfx11, "SMEM", 0xf4000000, 18, 0, 2, smem_gfx11},
    {Format::smem, gfx12, "SMEM", 0xf4000000, 13, 0, 2, smem_gfx12},
    {Format::vop1, rdna, "VOP1", 0x7e000000, 9, 0, 1, vop1, {literal, dpp16, dpp8, dpp8_fi}},
    {Format::vop2, rdna, "VOP2", 0x00000000, 25, 0, 1, vop2, {literal, dpp16, dpp8, dpp8_fi}},
    {Format::vopc, rdna, "VOPC", 0x7c000000, 17, 0, 1, vopc, {literal, dpp16, dpp8, dpp8_fi}},
    {Format::vopc, rdna, "VOP3", 0xd4000000, 16, 0x000, 2, vop3, {literal, dpp16, dpp8, dpp8_fi}},
    {Format::vop2, rdna, "VOP3", 0xd4000000, 16, 0x100, 2, vop3, {literal, dpp16, dpp8, dpp8_fi}},
    {Format::vop1, rdna, "VOP3", 0xd4000000, 16, 0x180, 2, vop3, {literal, dpp16, dpp8, dpp8_fi}},
    {Format::vop3, rdna, "VOP3", 0xd4000000, 16, 0x000, 2, vop3, {literal, dpp16, dpp8, dpp8_fi}},
    {Format::vop3p, rdna, "VOP3P", 0xcc000000, 16, 0, 2, vop3p, {literal, dpp16, dpp8, dpp8_fi}},
    {Format::vopd,
     rdna,
     "VOPD X",
     0xc8000000,
     22,
     0,
     2,
     {{"srcx0", 0, 9, source},
      {"vsrcx1", 9, 8, vgpr},
      {"opy", 17, 5, any},
      {"srcy0", 32, 9, source},
      {"vsrcy1", 41, 8, vgpr},
      {"vdsty", 49, 7, vgpr},
      {"vdstx", 56, 8, vgpr}},
     {literal}},
    {Format::vopd,
     rdna,
     "VOPD Y",
     0xc8000000,
     17,
     0,
     2,
     {{"srcx0", 0, 9, source},
      {"vsrcx1", 9, 8, vgpr},
      {"opx", 22, 4, any},
      {"srcy0", 32, 9, source},
      {"vsrcy1", 41, 8, vgpr},
      {"vdsty", 49, 7, vgpr},
      {"vdstx", 56, 8, vgpr}},
     {literal}},
    {Format::ds, rdna, "DS", 0xd8000000, 18, 0, 2, ds},
    {Format::flat, gfx11, "FLAT", 0xdc000000, 18, 0, 2, flat_gfx11},
    {Format::scratch, gfx11, "SCRATCH", 0xdc010000, 18, 0, 2, flat_gfx11},
    {Format::global, gfx11, "GLOBAL", 0xdc020000, 18, 0, 2, flat_gfx11},
    {Format::flat, gfx12, "VFLAT", 0xec000000, 14, 0, 3, flat_gfx12},
    {Format::scratch, gfx12, "VSCRATCH", 0xed000000, 14, 0, 3, flat_gfx12},
    {Format::global, gfx12, "VGLOBAL", 0xee000000, 14, 0, 3, flat_gfx12},
    {Format::mubuf, gfx11, "MUBUF", 0xe0000000, 18, 0, 2, mubuf_gfx11},
    {Format::mtbuf, gfx11, "MTBUF", 0xe8000000, 15, 0, 2, mtbuf_gfx11},
    {Format::mubuf, gfx12, "VBUFFER", 0xc4000000, 14, 0, 3, vbuffer},
    {Format::mtbuf, gfx12, "VBUFFER", 0xc4000000, 14, 0, 3, vbuffer},
};

}  // namespace

const std::vector<LayoutRow>& rdna_layouts() { return rows; }

}  // namespace rapt::sim::test
