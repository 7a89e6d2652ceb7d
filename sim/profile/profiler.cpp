#include "sim/profile/profiler.hpp"

#include "common/atomic_file.hpp"
#include "sim/profile/report.hpp"
#include "sim/profile/settings.hpp"

#include <algorithm>

#include <unistd.h>

namespace rapt::sim {
namespace {

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

LaunchRecord record_of(const Launch& launch, LaunchCounts& counts, std::uint64_t cycles, const std::string& failure) {
  LaunchRecord record;
  record.groups = launch.groups;
  record.group_size = launch.group_size;
  record.lds_bytes = launch.kernel->descriptor.group_segment_fixed_size + launch.dynamic_lds;
  record.cycles = cycles;
  record.instructions = counts.instructions;
  record.wave_count = counts.wave_count;
  record.wave_cycles = counts.cycles;
  record.footprint = counts.footprint.bytes();
  record.longest = counts.longest;
  record.waves = std::move(counts.waves);
  record.failure = failure;
  std::sort(record.waves.begin(), record.waves.end(), [](const WaveCounts& a, const WaveCounts& b) {
    return a.group != b.group ? a.group < b.group : a.wave < b.wave;
  });
  return record;
}

// Writes the report when the process ends: created before the streams register their end, so that it runs after them.
class AtExit {
 public:
  AtExit() : file_(profile_settings()), process_(getpid()) {
    if (!file_.empty()) opcodes(Arch::gfx942);  // creates the decoder's tables, which then outlive this
  }
  ~AtExit() {
    // A forked process has counted nothing.
    if (file_.empty() || profiler.kernels().empty() || getpid() != process_) return;
    try {
      common::write_file(file_, report_json(profiler.kernels()));
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "rapt-sim: RAPT_SIM_PROFILE: %s\n", failure.what());
    }
  }
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;
  bool wanted() const { return !file_.empty(); }
  Profiler profiler;

 private:
  std::string file_;
  pid_t process_;
};

}  // namespace

std::shared_ptr<const CodeCopy> Profiler::copy_of(const Launch& launch) {
  const CodeObject& object = *launch.object;
  const unsigned lanes = launch.kernel->lanes;
  for (const auto& code : codes_)
    if (code->mode.arch == object.arch() && code->mode.lanes == lanes && same(code->file, object.file())) return code;
  const auto copy = [](std::span<const std::byte> bytes) { return std::vector<std::byte>(bytes.begin(), bytes.end()); };
  codes_.push_back(
      std::make_shared<const CodeCopy>(CodeCopy{{object.arch(), lanes}, copy(object.text()), copy(object.file())}));
  return codes_.back();
}

void Profiler::add(const Launch& launch, LaunchCounts& counts, std::uint64_t cycles, const std::string& failure) {
  const std::lock_guard lock(mutex_);
  const auto code = copy_of(launch);
  auto kernel = std::find_if(kernels_.begin(), kernels_.end(),
                             [&](const KernelProfile& k) { return k.code == code && k.name == launch.kernel->name; });
  if (kernel == kernels_.end()) {
    KernelProfile made;
    made.name = launch.kernel->name;
    made.code = code;
    made.entry = static_cast<std::uint32_t>(
        (launch.kernel->entry - reinterpret_cast<std::uint64_t>(launch.object->text().data())) / 4);
    made.vgprs = launch.kernel->vgpr_count;
    made.agprs = launch.kernel->agpr_count;
    made.sgprs = launch.kernel->sgpr_count;
    kernels_.push_back(std::move(made));
    kernel = std::prev(kernels_.end());
  }
  LaunchRecord record = record_of(launch, counts, cycles, failure);
  kernel->slots.resize(std::max(kernel->slots.size(), counts.slots.size()));
  for (std::size_t n = 0; n < counts.slots.size(); ++n) kernel->slots[n] += counts.slots[n];
  ++kernel->launch_count;
  kernel->cycles += cycles;
  kernel->footprint += record.footprint;
  kernel->groups += std::uint64_t{launch.groups[0]} * launch.groups[1] * launch.groups[2];
  kernel->waves += record.wave_count;
  kernel->longest_wave_cycles += record.longest.cycles;
  if (kernel->launches.size() < KernelProfile::kept_launches) kernel->launches.push_back(std::move(record));
}

Profiler* Profiler::process() {
  static AtExit instance;
  return instance.wanted() ? &instance.profiler : nullptr;
}

}  // namespace rapt::sim
