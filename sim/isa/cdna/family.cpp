#include "sim/isa/family.hpp"

#include "sim/isa/cdna/decode.hpp"
#include "sim/isa/cdna/print.hpp"
#include "sim/isa/cdna/tables.hpp"

namespace rapt::sim {

const Family& gfx9_family() {
  using namespace gfx9;
  static const std::array tables = {sop1_table,    sop2_table,   sopc_table,  sopk_table,       sopp_table,
                                    smem_table,    vop1_table,   vop2_table,  vopc_table,       vop3_table,
                                    vop3p_table,   matrix_table, ds_table,    flat_table,       global_table,
                                    scratch_table, mubuf_table,  mtbuf_table, unsupported_table};
  static const Family family{tables, gfx9::decode, gfx9::print};
  return family;
}

}  // namespace rapt::sim
