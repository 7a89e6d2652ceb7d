#include "sim/profile/flow.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace rapt::sim {
namespace {

using Code = std::vector<FlowInstruction>;
constexpr std::uint32_t none = ~0U;

std::vector<Block> make_blocks(const Code& code) {
  std::set<std::uint32_t> leaders;
  for (const FlowInstruction& i : code) {
    if (i.taken != 0 && i.target) leaders.insert(*i.target);
    if (i.target || i.ends) leaders.insert(i.next);
  }
  std::vector<Block> blocks;
  for (std::uint32_t n = 0; n < code.size(); ++n) {
    const bool follows = n != 0 && code[n - 1].next == code[n].slot;
    if (!follows || leaders.contains(code[n].slot)) blocks.push_back({n, n, {}, {}});
    blocks.back().last = n;
  }
  return blocks;
}

void connect(std::vector<Block>& blocks, const Code& code) {
  std::map<std::uint32_t, std::uint32_t> by_slot;
  for (std::uint32_t b = 0; b < blocks.size(); ++b) by_slot[code[blocks[b].first].slot] = b;
  const auto add = [&](std::uint32_t from, std::uint32_t slot) {
    const auto to = by_slot.find(slot);
    if (to == by_slot.end()) return;
    auto& list = blocks[from].successors;
    if (std::find(list.begin(), list.end(), to->second) != list.end()) return;
    list.push_back(to->second);
    blocks[to->second].predecessors.push_back(from);
  };
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    const FlowInstruction& last = code[blocks[b].last];
    if (last.taken != 0 && last.target) add(b, *last.target);
    if (!last.ends && (!last.target || last.executed > last.taken)) add(b, last.next);
  }
}

// Immediate dominators by Cooper, Harvey and Kennedy's iteration. The root above all blocks without predecessors, and
// above blocks that only cycles reach, is number blocks.size().
class Dominators {
 public:
  explicit Dominators(const std::vector<Block>& blocks)
      : blocks_(blocks), root_(static_cast<std::uint32_t>(blocks.size())) {
    order_number_.assign(blocks.size() + 1, none);
    for (std::uint32_t b = 0; b < root_; ++b)
      if (blocks[b].predecessors.empty()) walk(b);
    for (std::uint32_t b = 0; b < root_; ++b)
      if (order_number_[b] == none) walk(b);
    order_number_[root_] = static_cast<std::uint32_t>(postorder_.size());
    iterate();
  }
  bool dominates(std::uint32_t a, std::uint32_t b) const {
    while (order_number_[b] < order_number_[a]) b = above_[b];
    return a == b;
  }

 private:
  // Depth first, without recursion: code may be long.
  void walk(std::uint32_t start) {
    starts_.insert(start);
    std::vector<std::pair<std::uint32_t, std::size_t>> stack{{start, 0}};
    order_number_[start] = none - 1;  // visited
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      if (next < blocks_[block].successors.size()) {
        const std::uint32_t successor = blocks_[block].successors[next++];
        if (order_number_[successor] == none) {
          order_number_[successor] = none - 1;
          stack.push_back({successor, 0});
        }
      } else {
        order_number_[block] = static_cast<std::uint32_t>(postorder_.size());
        postorder_.push_back(block);
        stack.pop_back();
      }
    }
  }

  void iterate() {
    above_.assign(blocks_.size() + 1, none);
    above_[root_] = root_;
    for (bool changed = true; changed;) {
      changed = false;
      for (auto b = postorder_.rbegin(); b != postorder_.rend(); ++b) {
        std::uint32_t found = starts_.contains(*b) ? root_ : none;
        for (const std::uint32_t p : blocks_[*b].predecessors)
          if (above_[p] != none) found = found == none ? p : common(found, p);
        if (found == above_[*b]) continue;
        above_[*b] = found;
        changed = true;
      }
    }
  }

  std::uint32_t common(std::uint32_t a, std::uint32_t b) const {
    while (a != b) {
      while (order_number_[a] < order_number_[b]) a = above_[a];
      while (order_number_[b] < order_number_[a]) b = above_[b];
    }
    return a;
  }

  const std::vector<Block>& blocks_;
  std::uint32_t root_;
  std::set<std::uint32_t> starts_;
  std::vector<std::uint32_t> order_number_, postorder_, above_;
};

// The blocks that reach the latch without passing the header.
void add_body(Loop& loop, std::uint32_t latch, const std::vector<Block>& blocks) {
  std::set<std::uint32_t> body(loop.blocks.begin(), loop.blocks.end());
  body.insert(loop.header);
  std::vector<std::uint32_t> pending;
  if (body.insert(latch).second) pending.push_back(latch);
  while (!pending.empty()) {
    const std::uint32_t block = pending.back();
    pending.pop_back();
    for (const std::uint32_t p : blocks[block].predecessors)
      if (body.insert(p).second) pending.push_back(p);
  }
  loop.blocks.assign(body.begin(), body.end());
}

// How often control went from one block to another.
std::uint64_t passes(const FlowInstruction& last, std::uint32_t slot) {
  std::uint64_t times = 0;
  if (last.target && *last.target == slot) times += last.taken;
  if (!last.ends && last.next == slot) times += last.target ? last.executed - last.taken : last.executed;
  return times;
}

void nest(std::vector<Loop>& loops) {
  std::sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
    return a.blocks.size() != b.blocks.size() ? a.blocks.size() > b.blocks.size() : a.header < b.header;
  });
  for (std::size_t n = 0; n < loops.size(); ++n)
    for (std::size_t outer = n; outer-- > 0;) {  // the smallest that holds it
      if (!std::binary_search(loops[outer].blocks.begin(), loops[outer].blocks.end(), loops[n].header)) continue;
      loops[n].parent = static_cast<int>(outer);
      loops[n].depth = loops[outer].depth + 1;
      break;
    }
}

}  // namespace

Flow find_flow(const Code& code) {
  Flow flow;
  flow.blocks = make_blocks(code);
  connect(flow.blocks, code);
  const Dominators dominators(flow.blocks);
  std::map<std::uint32_t, Loop> by_header;
  for (std::uint32_t b = 0; b < flow.blocks.size(); ++b)
    for (const std::uint32_t header : flow.blocks[b].successors) {
      if (!dominators.dominates(header, b)) continue;
      Loop& loop = by_header[header];
      loop.header = header;
      loop.latches.push_back(b);
      add_body(loop, b, flow.blocks);
    }
  for (auto& [header, loop] : by_header) {
    const FlowInstruction& first = code[flow.blocks[header].first];
    std::uint64_t back = 0;
    for (const std::uint32_t latch : loop.latches) back += passes(code[flow.blocks[latch].last], first.slot);
    loop.iterations = first.executed;
    loop.entries = first.executed - std::min(back, first.executed);
    flow.loops.push_back(std::move(loop));
  }
  nest(flow.loops);
  return flow;
}

}  // namespace rapt::sim
