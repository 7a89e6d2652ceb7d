#include "sim/loader/target.hpp"

#include "sim/isa/properties.hpp"

#include <algorithm>

namespace rapt::sim {

namespace {

struct Machine {
  std::uint32_t flag;  // EF_AMDGPU_MACH
  std::string_view name;
};

// AMDGPUUsage, table "AMDGPU EF_AMDGPU_MACH Values": machines that the listed devices run, and related ones for
// messages.
constexpr Machine machines[] = {
    {0x02c, "gfx900"},       {0x02f, "gfx906"},          {0x030, "gfx908"},          {0x033, "gfx1010"},
    {0x036, "gfx1030"},      {0x03f, "gfx90a"},          {0x041, "gfx1100"},         {0x044, "gfx1103"},
    {0x046, "gfx1101"},      {0x047, "gfx1102"},         {0x043, "gfx1150"},         {0x04a, "gfx1151"},
    {0x04c, "gfx942"},       {0x04e, "gfx1201"},         {0x048, "gfx1200"},         {0x04f, "gfx950"},
    {0x051, "gfx9-generic"}, {0x052, "gfx10-1-generic"}, {0x053, "gfx10-3-generic"}, {0x054, "gfx11-generic"},
    {0x055, "gfx1152"},      {0x058, "gfx1153"},         {0x059, "gfx12-generic"},   {0x05f, "gfx9-4-generic"},
};

struct Generic {
  std::string_view name;
  ArchSet members;
};

// AMDGPUUsage, "Generic processors". gfx9-generic has neither gfx908 nor gfx90a.
constexpr Generic generics[] = {
    {"gfx9-generic", only(Arch::gfx906)},
    {"gfx9-4-generic", only(Arch::gfx942) | only(Arch::gfx950)},
    {"gfx11-generic", gfx11},
    {"gfx12-generic", gfx12},
};

Feature feature_of(std::uint32_t bits) { return static_cast<Feature>(bits & 3); }

// 0 if the code requires a mode that the device does not have.
int feature_fitness(Feature code, Feature device) {
  if (code == Feature::any || code == Feature::unsupported) return 1;
  return code == device ? 2 : 0;
}

}  // namespace

std::optional<Target> parse_target(std::string_view text) {
  Target target;
  const auto colon = std::min(text.find(':'), text.size());
  target.processor = text.substr(0, colon);
  for (auto rest = text.substr(colon); !rest.empty();) {
    rest.remove_prefix(1);
    const auto end = std::min(rest.find(':'), rest.size());
    const auto feature = rest.substr(0, end);
    rest.remove_prefix(end);
    if (feature.empty()) return {};
    const auto mode = feature.back() == '+' ? Feature::on : Feature::off;
    const auto name = feature.substr(0, feature.size() - 1);
    if (feature.back() != '+' && feature.back() != '-') return {};
    if (name == "xnack") target.xnack = mode;
    else if (name == "sramecc") target.sramecc = mode;
    else return {};
  }
  return target;
}

Target elf_target(const Elf64_Ehdr& header) {
  const std::uint32_t machine = header.e_flags & 0xff;
  const auto* found =
      std::find_if(std::begin(machines), std::end(machines), [&](const Machine& m) { return m.flag == machine; });
  Target target;
  target.processor = found == std::end(machines) ? "machine " + hex(machine) : std::string(found->name);
  if (elf::code_object_version(header) == 3) {
    // Version 3 has one bit per feature: set if on, clear if off or not there.
    target.xnack = (header.e_flags & 0x100) != 0 ? Feature::on : Feature::any;
    target.sramecc = (header.e_flags & 0x200) != 0 ? Feature::on : Feature::any;
  } else {
    target.xnack = feature_of(header.e_flags >> 8);
    target.sramecc = feature_of(header.e_flags >> 10);
  }
  return target;
}

std::string to_string(const Target& target) {
  std::string text = target.processor;
  if (target.sramecc >= Feature::off) text += target.sramecc == Feature::on ? ":sramecc+" : ":sramecc-";
  if (target.xnack >= Feature::off) text += target.xnack == Feature::on ? ":xnack+" : ":xnack-";
  return text;
}

int fitness(const Target& target, Arch arch) {
  const auto device = parse_target(properties(arch).target).value_or(Target{});
  const int features = feature_fitness(target.xnack, device.xnack) * feature_fitness(target.sramecc, device.sramecc);
  if (target.processor == device.processor) return features * 10;
  for (const Generic& generic : generics)
    if (generic.name == target.processor && contains(generic.members, arch)) return features;
  return 0;
}

}  // namespace rapt::sim
