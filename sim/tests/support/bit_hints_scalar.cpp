// Hints of scalar operations: waits, messages, caches, counters of the hardware.
#include "sim/tests/support/bit_hints.hpp"

namespace rapt::sim::test {
namespace {

constexpr ArchSet before_gfx12 = cdna | gfx11;

bool no_base(const FormOf& f, unsigned) { return f.row().src[0] == Type::none; }
bool no_result(const FormOf& f, unsigned) { return f.row().dst == Type::none; }
bool no_offset_register(const FormOf& f, unsigned) { return !f.on("soffset_en"); }
bool register_elsewhere(const FormOf& f, unsigned) { return !f.on("imm") && f.on("soffset_en"); }
bool register_in_offset(const FormOf& f, unsigned) { return !f.on("imm") && !f.on("soffset_en"); }
bool has_immediate(const FormOf& f, unsigned) { return f.on("imm") && f.row().src[0] != Type::none; }
bool whole_dwords(const FormOf& f, unsigned) {
  const std::string_view name = f.row().name;
  const bool small = name.ends_with("_i8") || name.ends_with("_u8") || name.ends_with("16");
  return !small && f.row().src[0] != Type::none;
}
// An atomic operation's glc asks for what was there.
bool no_atomic(const FormOf& f, unsigned) { return f.row().name.find("atomic") == std::string_view::npos; }
bool half_wave(const FormOf& f, unsigned) { return f.lanes == 32; }

constexpr std::string_view time = "acts on time alone, which the machine does not model";
constexpr std::string_view unused = "an operand that the operation does not have";
constexpr std::string_view no_meaning = "bits without a meaning";
constexpr std::string_view sop = "ISA documents, \"Scalar ALU Operations\"; SOPInstructions.td";
constexpr std::string_view flow = "ISA documents, \"Program Flow Control\" and the instruction's own entry";
constexpr std::string_view wait = "ISA documents, the instruction's own entry; AMDGPUBaseInfo.cpp";
constexpr std::string_view smem = "ISA documents, \"Scalar Memory Operations\"; SMInstructions.td";

constexpr Hint hints[] = {
    // SOP1, SOPC, SOPK
    {.layouts = "SOP1*", .fields = "ssrc0", .rows = "s_getpc_b64", .why = unused, .source = sop},
    {.layouts = "SOP1*", .fields = "sdst", .when = no_result, .why = unused, .source = sop},
    {.layouts = "SOP1*", .fields = "ssrc0|literal", .rows = "s_sleep_var", .why = time, .source = flow},
    {.layouts = "SOPC*",
     .fields = "ssrc1",
     .first = 4,
     .rows = "s_set_gpr_idx_on",
     .why = "four bits enable indices",
     .source = "CDNA3 ISA, S_SET_GPR_IDX_ON"},
    {.layouts = "SOPK", .fields = "sdst", .rows = "s_setreg_imm32_b32|s_version", .why = unused, .source = sop},
    {.layouts = "SOPK",
     .fields = "simm16",
     .rows = "s_version",
     .why = "tells tools what the code was made for",
     .source = "RDNA3 ISA, S_VERSION"},
    {.layouts = "SOPK",
     .fields = "simm16",
     .rows = "s_waitcnt_expcnt",
     .why = "exports are not simulated: none is ever outstanding",
     .source = wait},
    {.layouts = "SOPK",
     .fields = "simm16",
     .first = 6,
     .rows = "s_waitcnt_v*cnt|s_waitcnt_lgkmcnt",
     .why = "the counters have six bits",
     .source = wait},
    {.layouts = "SOPK",
     .fields = "simm16|sdst",
     .rows = "s_subvector_loop_end",
     .when = half_wave,
     .why = "a wave of 32 lanes runs the loop once",
     .source = "RDNA3 ISA, S_SUBVECTOR_LOOP_END"},

    // SOPP: time, tools and hardware that is not there
    {.layouts = "SOPP",
     .fields = "simm16",
     .first = 4,
     .rows = "s_nop",
     .archs = before_gfx12,
     .why = "1 to 16 turns",
     .source = "ISA documents, S_NOP; GCNSubtarget::getSNopBits"},
    {.layouts = "SOPP",
     .fields = "simm16",
     .first = 7,
     .rows = "s_nop|s_sleep",
     .why = "seven bits of time",
     .source = "ISA documents, S_SLEEP; GCNSubtarget::getSNopBits"},
    {.layouts = "SOPP",
     .fields = "simm16",
     .first = 1,
     .rows = "s_setkill|s_sethalt",
     .why = no_meaning,
     .source = flow},
    {.layouts = "SOPP",
     .fields = "simm16",
     .rows = "s_setprio|s_clause|s_delay_alu|s_set_inst_prefetch_distance|s_wait_alu|s_waitcnt_depctr",
     .why = time,
     .source = flow},
    {.layouts = "SOPP",
     .fields = "simm16",
     .rows = "s_incperflevel|s_decperflevel|s_ttracedata_imm",
     .why = "performance counters and thread traces are the profiler's",
     .source = flow},
    {.layouts = "SOPP",
     .fields = "simm16",
     .rows = "s_cbranch_cdbg*",
     .why = "no debugger is attached, so the branch is never taken",
     .source = "ISA documents, S_CBRANCH_CDBGSYS"},
    {.layouts = "SOPP", .fields = "simm16", .rows = "s_endpgm", .why = no_meaning, .source = flow},
    {.layouts = "SOPP",
     .fields = "simm16",
     .rows = "s_sendmsg|s_sendmsghalt",
     .why = "messages to the host change nothing here",
     .source = "ISA documents, S_SENDMSG; AMDGPUUsage"},
    {.layouts = "SOPP",
     .fields = "simm16",
     .first = 8,
     .rows = "s_trap",
     .why = "eight bits of trap number",
     .source = flow},
    {.layouts = "SOPP",
     .fields = "simm16",
     .first = 4,
     .rows = "s_round_mode|s_denorm_mode|s_set_gpr_idx_mode",
     .why = "four bits of mode",
     .source = "ISA documents, S_ROUND_MODE, S_DENORM_MODE, S_SET_GPR_IDX_MODE"},

    // Waits: what the sanitizer does not count
    {.layouts = "SOPP",
     .fields = "simm16",
     .first = 4,
     .last = 7,
     .rows = "s_waitcnt",
     .archs = cdna,
     .why = "expcnt, which counts exports and GDS; bit 7 has no meaning",
     .source = wait},
    {.layouts = "SOPP",
     .fields = "simm16",
     .first = 12,
     .last = 13,
     .rows = "s_waitcnt",
     .archs = cdna,
     .why = no_meaning,
     .source = wait},
    {.layouts = "SOPP",
     .fields = "simm16",
     .first = 0,
     .last = 3,
     .rows = "s_waitcnt",
     .archs = rdna,
     .why = "expcnt, which counts exports and GDS; bit 3 has no meaning",
     .source = wait},
    {.layouts = "SOPP",
     .fields = "simm16",
     .rows = "s_wait_event|s_wait_samplecnt|s_wait_bvhcnt|s_wait_expcnt",
     .why = "exports, images and ray tracing are not simulated: none is ever outstanding",
     .source = wait},
    {.layouts = "SOPP",
     .fields = "simm16",
     .first = 6,
     .rows = "s_wait_loadcnt|s_wait_storecnt|s_wait_dscnt",
     .why = "the counters have six bits",
     .source = wait},
    {.layouts = "SOPP", .fields = "simm16", .first = 5, .rows = "s_wait_kmcnt", .why = "five bits", .source = wait},
    {.layouts = "SOPP",
     .fields = "simm16",
     .first = 6,
     .last = 7,
     .rows = "s_wait_*cnt_dscnt",
     .why = "the counters have six bits",
     .source = wait},
    {.layouts = "SOPP",
     .fields = "simm16",
     .first = 14,
     .rows = "s_wait_*cnt_dscnt",
     .why = "the counters have six bits",
     .source = wait},

    // SMEM
    {.layouts = "SMEM",
     .fields = "glc|dlc|nv|scope|th",
     .when = no_atomic,
     .why = "cache policy",
     .source = "ISA documents, \"Scalar Memory Operations\" and \"Memory Scopes and Temporal Hints\""},
    {.layouts = "SMEM", .fields = "nv", .why = "not volatile: cache policy", .source = smem},
    {.layouts = "SMEM", .fields = "unnamed", .why = no_meaning, .source = smem},
    {.layouts = "SMEM",
     .rows = "s_dcache_*|s_gl1_inv|s_atc_probe*|s_prefetch_*|s_buffer_prefetch_data",
     .why = "caches and translation: nothing that a program could see but by time",
     .source = smem},
    {.layouts = "SMEM",
     .fields = "sbase|offset|soffset|soffset_en|imm|glc",
     .when = no_base,
     .why = unused,
     .source = smem},
    {.layouts = "SMEM", .fields = "soffset", .archs = cdna, .when = no_offset_register, .why = unused, .source = smem},
    {.layouts = "SMEM",
     .fields = "offset",
     .archs = cdna,
     .when = register_elsewhere,
     .why = "no immediate offset, and the register is named by soffset",
     .source = smem},
    {.layouts = "SMEM",
     .fields = "offset",
     .first = 7,
     .archs = cdna,
     .when = register_in_offset,
     .why = "the field holds a register's number",
     .source = smem},
    {.layouts = "SMEM",
     .fields = "offset",
     .last = 1,
     .archs = cdna,
     .when = has_immediate,
     .why = "the two lowest bits of a dword's address are ignored",
     .source = smem},
    {.layouts = "SMEM",
     .fields = "offset",
     .first = 2,
     .last = 2,
     .rows = "s_*atomic_*_x2",
     .when = has_immediate,
     .why = "the address is that of an aligned pair of dwords",
     .source = smem},
    {.layouts = "SMEM",
     .fields = "offset",
     .last = 1,
     .archs = rdna,
     .when = whole_dwords,
     .why = "the two lowest bits of a dword's address are ignored",
     .source = smem},
};

}  // namespace

std::span<const Hint> scalar_hints() { return hints; }

}  // namespace rapt::sim::test
