#include "cli/core/machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "rapt/rapt.hpp"

namespace rapt::cli {

namespace {

// The text after "name<blanks>:" in a file of such lines; "" if there is none.
std::string field(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const size_t colon = line.find(':');
    const size_t value = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (value != std::string::npos) return line.substr(value);
  }
  return "";
}

int64_t kibibytes(const char* path, const char* name) {
  const std::string text = field(path, name);
  return text.empty() ? 0 : std::stoll(text) * 1024;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<Cache> read_caches() {
  std::vector<Cache> caches;
  for (int i = 0;; ++i) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
    const std::string level = first_line(folder + "level"), size = first_line(folder + "size");
    if (level.empty() || size.empty()) break;
    const int64_t unit = size.back() == 'K' ? 1024 : size.back() == 'M' ? 1024 * 1024 : 1;
    caches.push_back({std::stoi(level), first_line(folder + "type"), std::stoll(size) * unit});
  }
  if (!caches.empty()) return caches;
  for (const auto& [level, name] :
       {std::pair{1, _SC_LEVEL1_DCACHE_SIZE}, {2, _SC_LEVEL2_CACHE_SIZE}, {3, _SC_LEVEL3_CACHE_SIZE}}) {
    const long bytes = sysconf(name);
    if (bytes > 0) caches.push_back({level, level == 1 ? "Data" : "Unified", bytes});
  }
  return caches;
}

Machine read_machine() {
  Machine m;
  utsname names{};
  uname(&names);
  m.architecture = names.machine;
  m.cpu = field("/proc/cpuinfo", "model name");
  if (m.cpu.empty()) m.cpu = m.architecture;
  cpu_set_t usable;
  CPU_ZERO(&usable);
  m.cores = sched_getaffinity(0, sizeof usable, &usable) == 0 ? std::max(1, CPU_COUNT(&usable)) : 1;
  m.caches = read_caches();
  for (const Cache& c : m.caches) m.last_level_cache = std::max(m.last_level_cache, c.bytes);
  m.memory = kibibytes("/proc/meminfo", "MemTotal");
  return m;
}

}  // namespace

const Machine& machine() {
  static const Machine m = read_machine();
  return m;
}

std::string best_cpu_tier() {
  for (const CpuTier& tier : cpu_tiers())
    if (tier.available) return tier.name;
  return "";
}

int64_t available_memory() { return kibibytes("/proc/meminfo", "MemAvailable"); }

bool reset_peak_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

int64_t resident_memory() { return kibibytes("/proc/self/status", "VmRSS"); }
int64_t peak_memory() { return kibibytes("/proc/self/status", "VmHWM"); }

std::string bytes_text(int64_t bytes) {
  const char* const kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 10 && unit > 0 ? 1 : 0, kUnits[unit]);
}

}  // namespace rapt::cli
