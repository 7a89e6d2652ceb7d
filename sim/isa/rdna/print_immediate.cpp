// Immediates that have a special notation.
#include "sim/isa/rdna/print.hpp"
#include "sim/isa/text.hpp"

namespace rapt::sim::rdna_isa {
namespace {

struct Field {
  std::string_view name;
  unsigned shift, width;

  unsigned all_ones() const { return (1U << width) - 1; }
  unsigned of(unsigned value) const { return value >> shift & all_ones(); }
};

// The counters that the immediate waits for: those below their maximum, or all if none is.
template <std::size_t n>
std::string counters(const std::array<Field, n>& fields, unsigned immediate) {
  bool any = false;
  for (const Field& field : fields) any = any || field.of(immediate) != field.all_ones();
  std::string out;
  for (const Field& field : fields) {
    const unsigned value = field.of(immediate);
    if (any && value == field.all_ones()) continue;
    if (!out.empty()) out += ' ';
    out.append(field.name).append("(").append(std::to_string(value)).append(")");
  }
  return out;
}

struct Named {
  unsigned value;
  ArchSet archs;
  std::string_view name;
};

std::string_view find_name(std::span<const Named> list, Arch arch, unsigned value) {
  for (const Named& entry : list) {
    if (entry.value == value && contains(entry.archs, arch)) return entry.name;
  }
  return {};
}

constexpr Named messages[] = {
    {1, rdna, "MSG_INTERRUPT"},           {2, rdna, "MSG_HS_TESSFACTOR"},        {3, rdna, "MSG_DEALLOC_VGPRS"},
    {5, gfx11, "MSG_STALL_WAVE_GEN"},     {6, gfx11, "MSG_HALT_WAVES"},          {9, rdna, "MSG_GS_ALLOC_REQ"},
    {128, rdna, "MSG_RTN_GET_DOORBELL"},  {129, rdna, "MSG_RTN_GET_DDID"},       {130, rdna, "MSG_RTN_GET_TMA"},
    {131, rdna, "MSG_RTN_GET_REALTIME"},  {132, rdna, "MSG_RTN_SAVE_WAVE"},      {133, rdna, "MSG_RTN_GET_TBA"},
    {134, rdna, "MSG_RTN_GET_TBA_TO_PC"}, {135, gfx12, "MSG_RTN_GET_SE_AID_ID"},
};

constexpr Named registers[] = {
    {1, gfx11, "HW_REG_MODE"},
    {2, gfx11, "HW_REG_STATUS"},
    {3, gfx11, "HW_REG_TRAPSTS"},
    {5, gfx11, "HW_REG_GPR_ALLOC"},
    {6, gfx11, "HW_REG_LDS_ALLOC"},
    {7, rdna, "HW_REG_IB_STS"},
    {15, gfx11, "HW_REG_SH_MEM_BASES"},
    {18, gfx11, "HW_REG_PERF_SNAPSHOT_PC_LO"},
    {19, gfx11, "HW_REG_PERF_SNAPSHOT_PC_HI"},
    {20, gfx11, "HW_REG_FLAT_SCR_LO"},
    {21, gfx11, "HW_REG_FLAT_SCR_HI"},
    {23, gfx11, "HW_REG_HW_ID1"},
    {24, gfx11, "HW_REG_HW_ID2"},
    {27, gfx11, "HW_REG_PERF_SNAPSHOT_DATA"},
    {29, gfx11, "HW_REG_SHADER_CYCLES"},
    {1, gfx12, "HW_REG_WAVE_MODE"},
    {2, gfx12, "HW_REG_WAVE_STATUS"},
    {4, gfx12, "HW_REG_WAVE_STATE_PRIV"},
    {5, gfx12, "HW_REG_WAVE_GPR_ALLOC"},
    {6, gfx12, "HW_REG_WAVE_LDS_ALLOC"},
    {10, gfx12, "HW_REG_PERF_SNAPSHOT_DATA"},
    {11, gfx12, "HW_REG_PERF_SNAPSHOT_PC_LO"},
    {12, gfx12, "HW_REG_PERF_SNAPSHOT_PC_HI"},
    {15, gfx12, "HW_REG_PERF_SNAPSHOT_DATA1"},
    {16, gfx12, "HW_REG_PERF_SNAPSHOT_DATA2"},
    {17, gfx12, "HW_REG_WAVE_EXCP_FLAG_PRIV"},
    {18, gfx12, "HW_REG_WAVE_EXCP_FLAG_USER"},
    {19, gfx12, "HW_REG_WAVE_TRAP_CTRL"},
    {20, gfx12, "HW_REG_WAVE_SCRATCH_BASE_LO"},
    {21, gfx12, "HW_REG_WAVE_SCRATCH_BASE_HI"},
    {23, gfx12, "HW_REG_WAVE_HW_ID1"},
    {24, gfx12, "HW_REG_WAVE_HW_ID2"},
    {26, gfx12, "HW_REG_WAVE_SCHED_MODE"},
    {29, gfx12, "HW_REG_SHADER_CYCLES_LO"},
    {30, gfx12, "HW_REG_SHADER_CYCLES_HI"},
    {31, gfx12, "HW_REG_WAVE_DVGPR_ALLOC_LO"},
    {32, gfx12, "HW_REG_WAVE_DVGPR_ALLOC_HI"},
};

constexpr Named versions[] = {{0, rdna, "GFX7"}, {4, rdna, "GFX10"}, {6, rdna, "GFX11"}, {9, rdna, "GFX12"}};

// The unified buffer formats from 1 on: each layout and its number formats.
struct Layout {
  std::string_view name;
  std::string_view numbers;  // n unorm, s snorm, u uscaled, c sscaled, i uint, j sint, f float
};
constexpr Layout layouts[] = {
    {"8", "nsucij"},          {"16", "nsucijf"},      {"8_8", "nsucij"}, {"32", "ijf"},
    {"16_16", "nsucijf"},     {"10_11_11", "f"},      {"11_11_10", "f"}, {"10_10_10_2", "nsij"},
    {"2_10_10_10", "nsucij"}, {"8_8_8_8", "nsucij"},  {"32_32", "ijf"},  {"16_16_16_16", "nsucijf"},
    {"32_32_32", "ijf"},      {"32_32_32_32", "ijf"},
};

std::string_view number_format(char letter) {
  switch (letter) {
    case 'n': return "UNORM";
    case 's': return "SNORM";
    case 'u': return "USCALED";
    case 'c': return "SSCALED";
    case 'i': return "UINT";
    case 'j': return "SINT";
    default: return "FLOAT";
  }
}

}  // namespace

std::string small_or_hex(unsigned value) {
  constexpr unsigned largest_inline = 64;
  return value <= largest_inline ? std::to_string(value) : text::hex(value);
}

std::string waits(unsigned immediate) {
  static constexpr std::array<Field, 3> fields = {{{"vmcnt", 10, 6}, {"expcnt", 0, 3}, {"lgkmcnt", 4, 6}}};
  return counters(fields, immediate);
}

std::string dependency_counters(unsigned immediate) {
  static constexpr std::array<Field, 7> fields = {{{"depctr_hold_cnt", 7, 1},
                                                   {"depctr_sa_sdst", 0, 1},
                                                   {"depctr_va_vdst", 12, 4},
                                                   {"depctr_va_sdst", 9, 3},
                                                   {"depctr_va_ssrc", 8, 1},
                                                   {"depctr_va_vcc", 1, 1},
                                                   {"depctr_vm_vsrc", 2, 3}}};
  constexpr unsigned reserved = 0x60;
  return (immediate & reserved) != 0 ? text::hex(immediate) : counters(fields, immediate);
}

std::string delays(unsigned immediate) {
  static constexpr std::array<std::string_view, 16> ids = {
      "NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",        "VALU_DEP_3",   "VALU_DEP_4",   "TRANS32_DEP_1",
      "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"};
  static constexpr std::array<std::string_view, 8> skips = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
  std::string out;
  const auto add = [&](std::string_view name, std::span<const std::string_view> names, unsigned value) {
    if (value == 0) return;
    if (!out.empty()) out += " | ";
    out.append(name).append("(");
    if (names[value].empty()) {
      out.append("/* invalid ").append(name == "instskip" ? "instskip" : "instid").append(" value */");
    } else {
      out.append(names[value]);
    }
    out += ')';
  };
  add("instid0", ids, immediate & 15);
  add("instskip", skips, immediate >> 4 & 7);
  add("instid1", ids, immediate >> 7 & 15);
  return out.empty() ? "0" : out;
}

std::string message(Arch arch, unsigned immediate) {
  const unsigned id = immediate & 0xff;
  const std::string_view name = find_name(messages, arch, id);
  if (!name.empty()) return "sendmsg(" + std::string(name) + ')';
  return id == immediate ? "sendmsg(" + std::to_string(id) + ", 0, 0)" : std::to_string(immediate);
}

std::string hardware_register(Arch arch, unsigned immediate) {
  const unsigned id = immediate & 63, offset = immediate >> 6 & 31, size = (immediate >> 11) + 1;
  const std::string_view name = find_name(registers, arch, id);
  std::string out = "hwreg(" + (name.empty() ? std::to_string(id) : std::string(name));
  if (offset != 0 || size != 32) out += ", " + std::to_string(offset) + ", " + std::to_string(size);
  return out + ')';
}

std::string version(Arch arch, unsigned immediate) {
  static constexpr std::array<Named, 3> flags = {{{0x2000, rdna, "W64"}, {0x4000, rdna, "W32"}, {0x8000, rdna, "MDP"}}};
  if ((immediate & 0x1f00) != 0) return text::hex(immediate);
  const unsigned number = immediate & 0xff;
  const std::string_view name = find_name(versions, arch, number);
  std::string out = name.empty() ? std::to_string(number) : "UC_VERSION_" + std::string(name);
  for (const Named& flag : flags) {
    if ((immediate & flag.value) == 0) continue;
    if (out.find('|') != std::string::npos) out = '(' + out + ')';
    out.append("|UC_VERSION_").append(flag.name).append("_BIT");
  }
  return out;
}

std::string buffer_format(unsigned format) {
  constexpr unsigned default_format = 1;
  if (format == default_format) return {};
  if (format == 0) return "format:[BUF_FMT_INVALID]";
  unsigned first = 1;
  for (const Layout& layout : layouts) {
    const auto count = static_cast<unsigned>(layout.numbers.size());
    if (format < first + count) {
      return std::string("format:[BUF_FMT_")
                 .append(layout.name)
                 .append("_")
                 .append(number_format(layout.numbers[format - first])) +
             ']';
    }
    first += count;
  }
  return "format:" + std::to_string(format);
}

}  // namespace rapt::sim::rdna_isa
