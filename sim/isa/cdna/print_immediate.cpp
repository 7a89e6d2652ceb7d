// Immediates that have a special notation.
#include "sim/isa/cdna/print.hpp"
#include "sim/isa/text.hpp"

#include <bit>

namespace rapt::sim::gfx9 {
namespace {

std::string call(std::string_view name, std::initializer_list<unsigned> values) {
  std::string out(name);
  bool first = true;
  for (const unsigned value : values) {
    out.append(first ? "(" : ", ").append(std::to_string(value));
    first = false;
  }
  return out + ')';
}

constexpr std::array<std::string_view, 16> messages = {"",
                                                       "MSG_INTERRUPT",
                                                       "MSG_GS",
                                                       "MSG_GS_DONE",
                                                       "MSG_SAVEWAVE",
                                                       "MSG_STALL_WAVE_GEN",
                                                       "MSG_HALT_WAVES",
                                                       "MSG_ORDERED_PS_DONE",
                                                       "MSG_EARLY_PRIM_DEALLOC",
                                                       "MSG_GS_ALLOC_REQ",
                                                       "MSG_GET_DOORBELL",
                                                       "",
                                                       "",
                                                       "",
                                                       "",
                                                       "MSG_SYSMSG"};
constexpr std::array<std::string_view, 4> gs_operations = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
constexpr std::array<std::string_view, 5> system_operations = {"", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD",
                                                               "", "SYSMSG_OP_TTRACE_PC"};
constexpr unsigned msg_gs = 2, msg_gs_done = 3, msg_system = 15;

// Empty if the message has no such operation.
std::string_view operation_name(unsigned id, unsigned operation) {
  if (id == msg_system) return operation < system_operations.size() ? system_operations[operation] : "";
  if (operation >= gs_operations.size() || (id == msg_gs && operation == 0)) return "";
  return gs_operations[operation];
}

constexpr std::array<std::string_view, 25> registers = {"",
                                                        "HW_REG_MODE",
                                                        "HW_REG_STATUS",
                                                        "HW_REG_TRAPSTS",
                                                        "HW_REG_HW_ID",
                                                        "HW_REG_GPR_ALLOC",
                                                        "HW_REG_LDS_ALLOC",
                                                        "HW_REG_IB_STS",
                                                        "",
                                                        "",
                                                        "",
                                                        "",
                                                        "",
                                                        "",
                                                        "",
                                                        "HW_REG_SH_MEM_BASES",
                                                        "HW_REG_TBA_LO",
                                                        "HW_REG_TBA_HI",
                                                        "HW_REG_TMA_LO",
                                                        "HW_REG_TMA_HI",
                                                        "HW_REG_XCC_ID",
                                                        "HW_REG_SQ_PERF_SNAPSHOT_DATA",
                                                        "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
                                                        "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
                                                        "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"};
constexpr unsigned first_gfx942_register = 20;

}  // namespace

std::string message(unsigned immediate) {
  const unsigned id = immediate & 15, operation = immediate >> 4 & 7, stream = immediate >> 8 & 3;
  const bool has_operation = id == msg_gs || id == msg_gs_done || id == msg_system;
  const bool has_stream = (id == msg_gs || id == msg_gs_done) && operation != 0;
  const std::string name(messages[id]);
  if (!name.empty() && (has_stream || stream == 0)) {
    if (!has_operation && operation == 0) return "sendmsg(" + name + ')';
    const std::string_view second = has_operation ? operation_name(id, operation) : "";
    if (!second.empty()) {
      std::string out = "sendmsg(" + name + ", " + std::string(second);
      if (has_stream) out += ", " + std::to_string(stream);
      return out + ')';
    }
  }
  const bool plain = immediate == (id | operation << 4 | stream << 8);
  return plain ? call("sendmsg", {id, operation, stream}) : std::to_string(immediate);
}

std::string hardware_register(Arch arch, unsigned immediate) {
  const unsigned id = immediate & 63, offset = immediate >> 6 & 31, size = (immediate >> 11) + 1;
  const bool gfx94 = arch == Arch::gfx942 || arch == Arch::gfx950;
  const bool named = id < (gfx94 ? registers.size() : first_gfx942_register) && !registers[id].empty();
  std::string out = "hwreg(" + (named ? std::string(registers[id]) : std::to_string(id));
  if (offset != 0 || size != 32) out += ", " + std::to_string(offset) + ", " + std::to_string(size);
  return out + ')';
}

std::string index_mode(unsigned immediate) {
  if (immediate > 15) return text::hex(immediate);
  constexpr std::array<std::string_view, 4> names = {"SRC0", "SRC1", "SRC2", "DST"};
  std::string out;
  for (unsigned i = 0; i < 4; ++i) {
    if ((immediate >> i & 1) == 0) continue;
    if (!out.empty()) out += ',';
    out += names[i];
  }
  return "gpr_idx(" + out + ')';
}

std::string swizzle(unsigned offset) {
  if (offset == 0) return "";
  const std::string number = "offset:" + std::to_string(offset);
  const auto form = [](const std::string& inside) { return "offset:swizzle(" + inside + ')'; };
  if (offset >= 0xe000) return form("FFT," + std::to_string(offset & 31));
  if (offset >= 0xc000) {
    return form("ROTATE," + std::to_string(offset >> 10 & 1) + ',' + std::to_string(offset >> 5 & 31));
  }
  if (offset >= 0x8000) {
    if (offset > 0x80ff) return number;
    std::string lanes = "QUAD_PERM";
    for (unsigned i = 0; i < 4; ++i) lanes += ',' + std::to_string(offset >> 2 * i & 3);
    return form(lanes);
  }
  const unsigned keep = offset & 31, set = offset >> 5 & 31, flip = offset >> 10 & 31;
  if (keep == 31 && set == 0 && std::has_single_bit(flip)) return form("SWAP," + std::to_string(flip));
  if (keep == 31 && set == 0 && flip != 0 && std::has_single_bit(flip + 1))
    return form("REVERSE," + std::to_string(flip + 1));
  const unsigned group = 32 - keep;
  if (std::has_single_bit(group) && group > 1 && flip == 0 && set < group) {
    return form("BROADCAST," + std::to_string(group) + ',' + std::to_string(set));
  }
  std::string mask;
  for (unsigned i = 5; i-- > 0;) {
    const bool k = (keep >> i & 1) != 0, s = (set >> i & 1) != 0, f = (flip >> i & 1) != 0;
    mask += s ? (f ? '0' : '1') : k ? (f ? 'i' : 'p') : (f ? '1' : '0');
  }
  return form("BITMASK_PERM,\"" + mask + '"');
}

std::string buffer_format(unsigned data_format, unsigned number_format) {
  constexpr std::array<std::string_view, 16> data = {
      "INVALID",    "8",          "16",      "8_8",   "32",          "16_16",    "10_11_11",    "11_11_10",
      "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
  constexpr std::array<std::string_view, 8> number = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                                      "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
  if (data_format == 1 && number_format == 0) return "";
  std::string out;
  if (data_format != 1) out.append("BUF_DATA_FORMAT_").append(data[data_format]);
  if (number_format != 0) {
    if (!out.empty()) out += ',';
    out.append("BUF_NUM_FORMAT_").append(number[number_format]);
  }
  return "format:[" + out + ']';
}

}  // namespace rapt::sim::gfx9
