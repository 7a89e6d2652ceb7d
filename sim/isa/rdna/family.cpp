#include "sim/isa/family.hpp"

#include "sim/isa/rdna/decode.hpp"
#include "sim/isa/rdna/print.hpp"
#include "sim/isa/rdna/tables.hpp"

namespace rapt::sim {

const Family& gfx11_family() {
  static const std::array tables = {
      rdna_isa::sop1_table,  rdna_isa::sop2_table,  rdna_isa::sopk_table,       rdna_isa::sopc_table,
      rdna_isa::sopp_table,  rdna_isa::smem_table,  rdna_isa::vop1_table,       rdna_isa::vop2_table,
      rdna_isa::vopc_table,  rdna_isa::vop3_table,  rdna_isa::vop3p_table,      rdna_isa::vopd_table,
      rdna_isa::ds_table,    rdna_isa::flat_table,  rdna_isa::global_table,     rdna_isa::scratch_table,
      rdna_isa::mubuf_table, rdna_isa::mtbuf_table, rdna_isa::unsupported_table};
  static const Family family{tables, rdna_isa::decode, rdna_isa::print};
  return family;
}

}  // namespace rapt::sim
