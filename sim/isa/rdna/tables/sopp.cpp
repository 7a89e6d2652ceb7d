// SOPP: only a 16-bit immediate: control flow, waits, messages.
#include "sim/isa/rdna/tables.hpp"
#include "sim/isa/rdna/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

using enum Type;

constexpr Opcode sopp_rows[] = {
    {"s_nop", Format::sopp, 0x00, rdna},
    {"s_setkill", Format::sopp, 0x01, rdna},
    {"s_sethalt", Format::sopp, 0x02, rdna},
    {"s_sleep", Format::sopp, 0x03, rdna},
    {"s_set_inst_prefetch_distance", Format::sopp, 0x04, gfx11},
    {"s_clause", Format::sopp, 0x05, rdna},
    {"s_delay_alu", Format::sopp, 0x07, rdna},
    {"s_wait_alu", Format::sopp, 0x08, gfx12},
    {"s_waitcnt_depctr", Format::sopp, 0x08, gfx11},
    {"s_waitcnt", Format::sopp, 0x09, rdna},
    {"s_wait_idle", Format::sopp, 0x0a, rdna, none, none, {}, trait::no_immediate},
    {"s_wait_event", Format::sopp, 0x0b, rdna},
    {"s_trap", Format::sopp, 0x10, rdna},
    {"s_round_mode", Format::sopp, 0x11, rdna},
    {"s_denorm_mode", Format::sopp, 0x12, rdna},
    {"s_barrier_wait", Format::sopp, 0x14, gfx12},
    {"s_barrier_leave", Format::sopp, 0x15, gfx12, none, none, {}, trait::no_immediate},
    {"s_code_end", Format::sopp, 0x1f, rdna, none, none, {}, trait::no_immediate},
    {"s_branch", Format::sopp, 0x20, rdna},
    {"s_cbranch_scc0", Format::sopp, 0x21, rdna},
    {"s_cbranch_scc1", Format::sopp, 0x22, rdna},
    {"s_cbranch_vccz", Format::sopp, 0x23, rdna},
    {"s_cbranch_vccnz", Format::sopp, 0x24, rdna},
    {"s_cbranch_execz", Format::sopp, 0x25, rdna},
    {"s_cbranch_execnz", Format::sopp, 0x26, rdna},
    {"s_cbranch_cdbgsys", Format::sopp, 0x27, gfx11},
    {"s_cbranch_cdbguser", Format::sopp, 0x28, gfx11},
    {"s_cbranch_cdbgsys_or_user", Format::sopp, 0x29, gfx11},
    {"s_cbranch_cdbgsys_and_user", Format::sopp, 0x2a, gfx11},
    {"s_endpgm", Format::sopp, 0x30, rdna},
    {"s_endpgm_saved", Format::sopp, 0x31, rdna, none, none, {}, trait::no_immediate},
    {"s_endpgm_ordered_ps_done", Format::sopp, 0x32, gfx11, none, none, {}, trait::no_immediate},
    {"s_wakeup", Format::sopp, 0x34, rdna, none, none, {}, trait::no_immediate},
    {"s_setprio", Format::sopp, 0x35, rdna},
    {"s_sendmsg", Format::sopp, 0x36, rdna},
    {"s_sendmsghalt", Format::sopp, 0x37, rdna},
    {"s_incperflevel", Format::sopp, 0x38, rdna},
    {"s_decperflevel", Format::sopp, 0x39, rdna},
    {"s_ttracedata", Format::sopp, 0x3a, rdna, none, none, {}, trait::no_immediate},
    {"s_ttracedata_imm", Format::sopp, 0x3b, rdna},
    {"s_icache_inv", Format::sopp, 0x3c, rdna, none, none, {}, trait::no_immediate},
    {"s_barrier", Format::sopp, 0x3d, gfx11, none, none, {}, trait::no_immediate},
    {"s_wait_loadcnt", Format::sopp, 0x40, gfx12},
    {"s_wait_storecnt", Format::sopp, 0x41, gfx12},
    {"s_wait_samplecnt", Format::sopp, 0x42, gfx12},
    {"s_wait_bvhcnt", Format::sopp, 0x43, gfx12},
    {"s_wait_expcnt", Format::sopp, 0x44, gfx12},
    {"s_wait_dscnt", Format::sopp, 0x46, gfx12},
    {"s_wait_kmcnt", Format::sopp, 0x47, gfx12},
    {"s_wait_loadcnt_dscnt", Format::sopp, 0x48, gfx12},
    {"s_wait_storecnt_dscnt", Format::sopp, 0x49, gfx12},
};

}  // namespace

const Table sopp_table = sopp_rows;

}  // namespace rapt::sim::rdna_isa
