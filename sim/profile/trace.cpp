#include "sim/profile/trace.hpp"

#include "sim/isa/text.hpp"
#include "sim/machine/core/workgroup.hpp"
#include "sim/profile/settings.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace rapt::sim {
namespace {

std::array<std::uint32_t, 3> place(std::uint64_t number, const std::array<std::uint32_t, 3>& groups) {
  const std::uint64_t row = number / groups[0];
  return {static_cast<std::uint32_t>(number % groups[0]), static_cast<std::uint32_t>(row % groups[1]),
          static_cast<std::uint32_t>(row / groups[1])};
}

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// One value if the active lanes agree, else the first lanes' values; "-" for an inactive lane.
std::string lanes_text(const std::uint32_t* row, unsigned lanes, std::uint64_t exec, unsigned shown) {
  if (exec == 0) return "(no active lane)";
  const std::uint32_t first = row[std::countr_zero(exec)];
  bool uniform = true;
  for (unsigned l = 0; l < lanes; ++l) uniform &= (exec >> l & 1) == 0 || row[l] == first;
  if (uniform) return hexadecimal(first);
  std::string text = "{";
  for (unsigned l = 0; l < std::min(lanes, shown); ++l)
    text += (l == 0 ? "" : " ") + ((exec >> l & 1) != 0 ? hexadecimal(row[l]) : "-");
  return text + (shown < lanes ? " ...}" : "}");
}

std::string scalars_text(const Wave& wave, unsigned first, unsigned count) {
  std::string text;
  for (unsigned n = 0; n < count && first + n < sreg::count; ++n)
    text += (n == 0 ? "" : " ") + hexadecimal(wave.sgpr[first + n]);
  return text;
}

std::string access_text(const Wave& wave, const RegisterAccess& access, std::uint64_t exec, unsigned shown) {
  switch (access.file) {
    case RegisterFile::scc: return std::string(" scc=") + (wave.scc ? "1" : "0");
    case RegisterFile::sgpr:
      return " " + text::scalar(wave.arch, access.first, access.count) + "=" +
             scalars_text(wave, access.first, access.count);
    case RegisterFile::vgpr:
    case RegisterFile::agpr: break;
  }
  const bool accumulation = access.file == RegisterFile::agpr;
  std::string text;
  for (unsigned n = 0; n < access.count; ++n) {
    const unsigned index = access.first + n;
    const std::uint32_t* row = wave.vgpr + (accumulation ? wave.first_agpr + index : index) * std::size_t{wave.lanes};
    text += std::string(accumulation ? " a" : " v") + std::to_string(index) + "=" +
            lanes_text(row, wave.lanes, exec, shown);
  }
  return text;
}

}  // namespace

Trace::Trace(const TraceOptions& options, const Launch& launch, std::FILE* file)
    : options_(options), kernel_(*launch.kernel), file_(file), group_(place(options.group, launch.groups)) {
  const auto& g = launch.groups;
  const auto& s = launch.group_size;
  std::fprintf(file_, "%s on %s: %ux%ux%u workgroups of %ux%ux%u; workgroup %llu, wave %u\n", kernel_.name.c_str(),
               std::string(name(launch.object->arch())).c_str(), g[0], g[1], g[2], s[0], s[1], s[2],
               static_cast<unsigned long long>(options.group), options.wave);
  if (options.group >= std::uint64_t{g[0]} * g[1] * g[2]) std::fputs("the grid has no such workgroup\n", file_);
}

Trace::~Trace() {
  if (open_) std::fputs("  (did not end)\n", file_);
  std::fflush(file_);
}

bool Trace::wanted(const Wave& wave) const {
  return wave.index == options_.wave && number_ >= options_.from && number_ - options_.from < options_.count;
}

void Trace::before(Wave& wave, const Entry& entry) {
  if (!wanted(wave)) return;
  exec_ = wave.exec();
  const std::uint64_t address = wave.group->program->base() + 4 * std::uint64_t{entry.slot};
  const auto offset = static_cast<std::int64_t>(address - kernel_.entry);
  std::fprintf(file_, "%8llu  %s0x%05llx  %s\n", static_cast<unsigned long long>(number_), offset < 0 ? "-" : "+",
               static_cast<unsigned long long>(offset < 0 ? -offset : offset),
               print(wave.group->program->mode(), entry.instruction).c_str());
  std::string line;
  lanes_ = entry.effects.per_lane ? exec_ : wave.all_lanes();
  for (const RegisterAccess& access : entry.effects.reads()) line += access_text(wave, access, lanes_, options_.lanes);
  if (entry.effects.per_lane && exec_ != wave.all_lanes()) line += " exec=" + hexadecimal(exec_);
  if (!line.empty()) std::fprintf(file_, "                   reads %s\n", line.c_str());
  open_ = true;
}

void Trace::after(Wave& wave, const Entry& entry) {
  if (wave.index != options_.wave) return;
  if (open_) {
    std::string line;
    for (const RegisterAccess& access : entry.effects.writes())
      line += access_text(wave, access, lanes_, options_.lanes);
    if (!line.empty()) std::fprintf(file_, "                   writes%s\n", line.c_str());
    open_ = false;
  }
  ++number_;
}

Tracer::Tracer(const TraceOptions& options) : options_(options) {
  file_ = options.file == "stderr" ? stderr : std::fopen(options.file.c_str(), "w");
  if (!file_) throw std::runtime_error("cannot write the trace to " + options.file + ": " + std::strerror(errno));
}

Tracer::~Tracer() {
  if (file_ != stderr) std::fclose(file_);
}

std::unique_ptr<Trace> Tracer::begin(const Launch& launch) {
  if (!options_.kernel.empty() && launch.kernel->name != options_.kernel) return nullptr;
  if (begun_.exchange(true)) return nullptr;
  return std::make_unique<Trace>(options_, launch, file_);
}

Tracer* Tracer::process() {
  static const std::unique_ptr<Tracer> tracer = [] {
    const auto options = trace_settings();
    try {
      if (options) return std::make_unique<Tracer>(*options);
    } catch (const std::runtime_error& failure) {
      std::fprintf(stderr, "rapt-sim: RAPT_SIM_TRACE: %s\n", failure.what());
    }
    return std::unique_ptr<Tracer>();
  }();
  return tracer.get();
}

}  // namespace rapt::sim
