// Hints of LDS, flat and buffer operations: cache policy, and fields of operands that an operation does not have.
#include "sim/tests/support/bits/hints.hpp"

namespace rapt::sim::test {
namespace {

bool is_none(const Operand& o) { return o.kind == OperandKind::none; }
bool no_result(const FormOf& f, unsigned) { return is_none(f.instruction.dst); }
bool no_address(const FormOf& f, unsigned) { return is_none(f.instruction.src[0]); }
bool no_data(const FormOf& f, unsigned) { return is_none(f.instruction.src[1]); }
bool neither(const FormOf& f, unsigned) { return no_result(f, 0) && no_data(f, 0); }
bool atomic(const FormOf& f, unsigned) { return f.row().name.find("_atomic_") != std::string_view::npos; }
bool no_atomic(const FormOf& f, unsigned) { return !atomic(f, 0); }
bool stores(const FormOf& f, unsigned) { return f.row().name.find("_store_") != std::string_view::npos; }
bool no_descriptor(const FormOf& f, unsigned) { return is_none(f.instruction.src[2]); }
bool modulo_32(const FormOf& f, unsigned) { return f.lanes == 32 || contains(gfx11, f.arch); }
bool formatless(const FormOf& f, unsigned) { return f.row().format == Format::mubuf; }

constexpr std::string_view policy = "cache policy";
constexpr std::string_view unused = "an operand that the operation, or this form of it, does not have";
constexpr std::string_view no_meaning = "bits without a meaning";
constexpr std::string_view flat = "ISA documents, \"Flat Memory Instructions\"; FLATInstructions.td";
constexpr std::string_view buffer = "ISA documents, \"Vector Memory Buffer Instructions\"; BUFInstructions.td";
constexpr std::string_view ds = "ISA documents, \"Data Share Operations\"; DSInstructions.td";
constexpr std::string_view scopes = "ISA documents, memory scopes and temporal hints; AMDGPUUsage, \"Memory Model\"";

constexpr std::string_view flats = "*FLAT|*GLOBAL|*SCRATCH", buffers = "MUBUF|MTBUF|VBUFFER";

constexpr Hint hints[] = {
    // An atomic operation's glc, and the lowest bit of its th, request the old value.
    {.layouts = "FLAT|GLOBAL|SCRATCH|MUBUF|MTBUF", .fields = "slc|dlc|scc", .why = policy, .source = scopes},
    {.layouts = "FLAT|GLOBAL|SCRATCH|MUBUF|MTBUF", .fields = "glc", .when = no_atomic, .why = policy, .source = scopes},
    {.layouts = "VFLAT|VGLOBAL|VSCRATCH|VBUFFER", .fields = "scope|nv", .why = policy, .source = scopes},
    {.layouts = "VFLAT|VGLOBAL|VSCRATCH|VBUFFER", .fields = "th", .when = no_atomic, .why = policy, .source = scopes},
    {.layouts = "VFLAT|VGLOBAL|VSCRATCH|VBUFFER",
     .fields = "th",
     .first = 1,
     .when = atomic,
     .why = policy,
     .source = scopes},

    // FLAT, GLOBAL, SCRATCH
    {.layouts = "FLAT",
     .fields = "offset",
     .first = 12,
     .archs = cdna,
     .why = "FLAT's offset has twelve bits",
     .source = "CDNA ISA documents, \"Flat Addressing\": OFFSET"},
    {.layouts = flats, .fields = "addr|vaddr", .when = no_address, .why = unused, .source = flat},
    {.layouts = flats, .fields = "data|vsrc", .when = no_data, .why = unused, .source = flat},
    {.layouts = flats, .fields = "vdst", .when = no_result, .why = unused, .source = flat},
    {.layouts = "FLAT|GLOBAL|SCRATCH", .fields = "unnamed", .first = 25, .last = 25, .why = no_meaning, .source = flat},
    {.layouts = "VFLAT|VGLOBAL|VSCRATCH", .fields = "unnamed", .why = no_meaning, .source = flat},
    {.layouts = "VGLOBAL",
     .fields = "offset|vaddr",
     .rows = "global_inv|global_wb|global_wbinv",
     .why = "the whole cache",
     .source = flat},

    // MUBUF, MTBUF, VBUFFER
    {.layouts = buffers, .fields = "vaddr", .when = no_address, .why = unused, .source = buffer},
    {.layouts = buffers, .fields = "vdata", .when = neither, .why = unused, .source = buffer},
    {.layouts = buffers,
     .fields = "offset|srsrc|rsrc|soffset|format",
     .when = no_descriptor,
     .why = unused,
     .source = buffer},
    {.layouts = buffers,
     .fields = "tfe",
     .when = stores,
     .why = "no page is ever missing, and a store tells nobody",
     .source = "RDNA3 ISA, \"Buffer Instruction Fields\": TFE"},
    {.layouts = "MUBUF", .fields = "unnamed", .why = no_meaning, .source = buffer},
    {.layouts = "VBUFFER", .fields = "unnamed", .why = no_meaning, .source = buffer},
    {.layouts = "VBUFFER", .fields = "format", .when = formatless, .why = unused, .source = buffer},

    // DS
    {.layouts = "DS", .fields = "unnamed", .first = 16, .last = 16, .archs = rdna, .why = no_meaning, .source = ds},
    {.layouts = "DS",
     .fields = "offset1",
     .rows = "ds_permute_b32|ds_bpermute_b32|ds_bpermute_fi_b32",
     .why = "lanes, of four bytes each, are counted modulo the wave's size",
     .source = "ISA documents, DS_PERMUTE_B32"},
    {.layouts = "DS",
     .fields = "offset0",
     .first = 7,
     .rows = "ds_permute_b32|ds_bpermute_b32|ds_bpermute_fi_b32",
     .when = modulo_32,
     .why = "32 lanes",
     .source = "RDNA3 ISA, DS_PERMUTE_B32"},
};

}  // namespace

std::span<const Hint> memory_hints() { return hints; }

}  // namespace rapt::sim::test
