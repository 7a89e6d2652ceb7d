#include "sim/memory/memory.hpp"
#include "sim/memory/pages.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace rapt::sim {
namespace {

// Released allocations that are still remembered (and mapped), by number and by bytes.
constexpr std::size_t quarantine_count = 1024;
constexpr std::uint64_t quarantine_bytes = std::uint64_t{512} << 20;

struct Block : Allocation {
  Pages pages;                      // empty for adopted memory
  std::unique_ptr<WrittenMap> map;  // what `written` points to
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { unmap_pages(pages); }
};

// The live allocations by address, immutable once built.
using Snapshot = std::vector<std::shared_ptr<const Block>>;

bool counts_for_limit(const Allocation& a) { return a.kind == MemoryKind::device || a.kind == MemoryKind::managed; }

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string bytes_at(const Allocation& a) {
  static constexpr const char* kinds[] = {"device memory", "host memory", "managed memory", "registered memory",
                                          "code"};
  return std::to_string(a.size) + " bytes of " + kinds[static_cast<unsigned>(a.kind)] + " at " + hex(a.base);
}

bool tracking_wanted() {
  const char* check = std::getenv("RAPT_SIM_CHECK");
  return check && *check && std::strcmp(check, "0") != 0;
}

}  // namespace

struct Memory::State {
  mutable std::mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<Block>> live;
  std::deque<std::shared_ptr<Block>> quarantine;  // the oldest first
  std::uint64_t quarantined = 0;
  std::map<int, std::uint64_t> limits, used;
  mutable std::shared_ptr<const Snapshot> snapshot = std::make_shared<Snapshot>();
  mutable std::uint64_t snapshot_generation = 0;

  // The current list, rebuilt when it has changed. The mutex is held.
  std::shared_ptr<const Snapshot> current(std::uint64_t generation) const {
    if (snapshot_generation != generation) {
      auto fresh = std::make_shared<Snapshot>();
      fresh->reserve(live.size());
      for (const auto& [base, block] : live) fresh->push_back(block);
      snapshot = std::move(fresh);
      snapshot_generation = generation;
    }
    return snapshot;
  }

  bool overlaps(std::uint64_t base, std::uint64_t size) const {
    const auto after = live.lower_bound(base);
    if (after != live.end() && after->first - base < size) return true;
    if (after == live.begin()) return false;
    const Block& before = *std::prev(after)->second;
    return base - before.base < before.size;
  }

  // Blocks that no longer fit into the quarantine; the caller releases them after unlocking the mutex.
  std::vector<std::shared_ptr<Block>> oldest() {
    std::vector<std::shared_ptr<Block>> gone;
    while (quarantine.size() > quarantine_count || quarantined > quarantine_bytes) {
      quarantined -= quarantine.front()->size;
      gone.push_back(std::move(quarantine.front()));
      quarantine.pop_front();
    }
    return gone;
  }
};

constinit thread_local Memory::Recent Memory::recent_;
std::atomic<std::uint64_t> Memory::generation_{1};
std::atomic<bool> Memory::tracking_{tracking_wanted()};
std::atomic<std::uint32_t> Memory::fresh_{Memory::fresh_pattern};

Memory::Memory() : state_(std::make_unique<State>()) {}
Memory::~Memory() = default;

Memory& Memory::process() {
  // Never destroyed: programs release memory in their destructors at exit.
  static Memory& memory = *new Memory;
  return memory;
}

void* Memory::allocate(std::size_t bytes, std::size_t alignment, MemoryKind kind, int device) {
  auto block = std::make_shared<Block>();
  block->kind = kind, block->device = device, block->size = bytes;
  {
    const std::lock_guard lock(state_->mutex);
    if (counts_for_limit(*block)) {
      std::uint64_t& used = state_->used[device];
      const auto limit = state_->limits.find(device);
      if (limit != state_->limits.end() && (bytes > limit->second || used > limit->second - bytes)) return nullptr;
      used += bytes;
    }
  }
  const std::uint32_t pattern = kind == MemoryKind::device ? fresh_.load(std::memory_order_relaxed) : 0;
  block->pages = map_pages(std::max<std::size_t>(bytes, 1), alignment, pattern);
  unsigned char* data = block->pages.data;
  if (data && tracking() && counts_for_limit(*block)) {
    block->map = std::make_unique<WrittenMap>(bytes);
    if (block->map->usable()) block->written = block->map.get();
  }
  const std::lock_guard lock(state_->mutex);
  if (!data) {
    if (counts_for_limit(*block)) state_->used[device] -= bytes;
    return nullptr;
  }
  block->base = reinterpret_cast<std::uint64_t>(data);
  state_->live.emplace(block->base, std::move(block));
  generation_.fetch_add(1, std::memory_order_release);
  return data;
}

bool Memory::adopt(void* base, std::size_t bytes, MemoryKind kind, int device) {
  auto block = std::make_shared<Block>();
  block->base = reinterpret_cast<std::uint64_t>(base);
  block->size = bytes, block->kind = kind, block->device = device;
  const std::lock_guard lock(state_->mutex);
  if (bytes == 0 || state_->overlaps(block->base, bytes)) return false;
  state_->live.emplace(block->base, std::move(block));
  generation_.fetch_add(1, std::memory_order_release);
  return true;
}

bool Memory::release(void* base) {
  std::vector<std::shared_ptr<Block>> gone;
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->live.find(reinterpret_cast<std::uint64_t>(base));
  if (found == state_->live.end()) return false;
  std::shared_ptr<Block> block = std::move(found->second);
  state_->live.erase(found);
  generation_.fetch_add(1, std::memory_order_release);
  block->freed = true;
  if (!block->pages.data) return true;
  if (counts_for_limit(*block)) state_->used[block->device] -= block->size;
  state_->quarantined += block->size;
  state_->quarantine.push_back(std::move(block));
  gone = state_->oldest();
  return true;
}

void Memory::set_limit(int device, std::uint64_t bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->limits[device] = bytes;
}

std::uint64_t Memory::used(int device) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->used.find(device);
  return found == state_->used.end() ? 0 : found->second;
}

const Allocation* Memory::find_and_remember(std::uint64_t address) const {
  // Keeps what recent_ points to alive even if another thread releases it meanwhile.
  static thread_local std::shared_ptr<const Snapshot> snapshot;
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  if (!snapshot || recent_.generation != generation) {
    const std::lock_guard lock(state_->mutex);
    recent_ = {};
    recent_.generation = generation_.load(std::memory_order_relaxed);
    snapshot = state_->current(recent_.generation);
  }
  const auto after = std::upper_bound(snapshot->begin(), snapshot->end(), address,
                                      [](std::uint64_t a, const auto& block) { return a < block->base; });
  if (after == snapshot->begin()) return nullptr;
  const Block& block = **std::prev(after);
  if (address - block.base >= block.size) return nullptr;
  recent_.entries[recent_.next++ % std::size(recent_.entries)] = {block.base, block.size, &block};
  return &block;
}

std::string Memory::describe(std::uint64_t address) const {
  if (address < 4096) return address == 0 ? "a null pointer" : hex(address) + ", near a null pointer";
  const std::lock_guard lock(state_->mutex);
  for (auto freed = state_->quarantine.rbegin(); freed != state_->quarantine.rend(); ++freed)
    if (address - (*freed)->base < (*freed)->size)
      return hex(address) + ", byte " + std::to_string(address - (*freed)->base) + " of freed " + bytes_at(**freed);
  // The nearest one, if it is close.
  const auto after = state_->live.upper_bound(address);
  std::uint64_t behind = ~std::uint64_t{0}, ahead = behind;
  const Block* before = after == state_->live.begin() ? nullptr : std::prev(after)->second.get();
  if (before && address - before->base < before->size)
    return hex(address) + ", byte " + std::to_string(address - before->base) + " of the " + bytes_at(*before);
  if (before) behind = address - before->base - before->size;
  if (after != state_->live.end()) ahead = after->first - address;
  constexpr std::uint64_t near = std::uint64_t{1} << 20;
  if (behind < near && behind <= ahead)
    return hex(address) + ", " + std::to_string(behind) + " bytes past the end of the " + bytes_at(*before);
  if (ahead < near)
    return hex(address) + ", " + std::to_string(ahead) + " bytes before the " + bytes_at(*after->second);
  return hex(address) + ", in no allocation";
}

void Memory::mark_written(std::uint64_t address, std::size_t bytes) {
  const Allocation* allocation = find(address);
  if (!allocation || !allocation->written) return;
  const std::uint64_t begin = address - allocation->base;
  allocation->written->mark(begin, begin + bytes);
}

void Memory::mark_unwritten(std::uint64_t address, std::size_t bytes) {
  const Allocation* allocation = find(address);
  if (!allocation || !allocation->written) return;
  const std::uint64_t begin = address - allocation->base;
  allocation->written->unmark(begin, begin + bytes);
}

bool Memory::is_written(std::uint64_t address, std::size_t bytes) const {
  const Allocation* allocation = find(address);
  if (!allocation || !allocation->written) return true;
  const std::uint64_t begin = address - allocation->base;
  return allocation->written->all(begin, begin + bytes);
}

bool Memory::all_written(std::uint64_t begin, std::uint64_t end) const {
  constexpr std::uint64_t longest = std::uint64_t{4} << 20;  // a thousand pages to check
  const Allocation* allocation = find(begin);
  if (!allocation || end - allocation->base > allocation->size) return false;
  if (!allocation->written) return true;
  return end - begin <= longest && allocation->written->all(begin - allocation->base, end - allocation->base);
}

}  // namespace rapt::sim
