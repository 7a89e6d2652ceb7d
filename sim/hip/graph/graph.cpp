#include "sim/hip/graph/graph.hpp"

#include "sim/hip/error.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace rapt::sim::hip {

namespace {

struct LiveNodes {
  std::mutex mutex;
  std::unordered_set<const Node*> set;
};

LiveNodes& live_nodes() {
  static LiveNodes& all = *new LiveNodes;
  return all;
}

}  // namespace

Node::Node() {
  const std::lock_guard lock(live_nodes().mutex);
  live_nodes().set.insert(this);
}

Node::~Node() {
  const std::lock_guard lock(live_nodes().mutex);
  live_nodes().set.erase(this);
}

Node& find_node(NodeHandle handle) {
  auto* node = static_cast<Node*>(handle);
  const std::lock_guard lock(live_nodes().mutex);
  need(live_nodes().set.count(node) != 0, Error::invalid_value, "no such node");
  return *node;
}

Node* Graph::add(Work work, std::vector<Node*> before) {
  auto node = std::make_unique<Node>();
  node->work = std::move(work);
  node->before = std::move(before);
  node->graph = this;
  return nodes_.emplace_back(std::move(node)).get();
}

void Graph::remove(Node* node) {
  for (const auto& other : nodes_) std::erase(other->before, node);
  std::erase_if(nodes_, [&](const auto& other) { return other.get() == node; });
}

bool Graph::has(const Node* node) const { return node->graph == this; }

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  std::unordered_map<const Node*, Node*> clones;
  for (const auto& node : nodes_) {
    Node* made = copy->add(node->work, {});
    made->original = node.get();
    made->enabled = node->enabled;
    clones[node.get()] = made;
  }
  for (const auto& node : nodes_)
    for (const Node* before : node->before) clones[node.get()]->before.push_back(clones[before]);
  return copy;
}

std::vector<Node*> Graph::ordered() const {
  std::unordered_map<const Node*, std::size_t> waiting;
  std::unordered_map<const Node*, std::vector<Node*>> after;
  std::vector<Node*> order;
  for (const auto& node : nodes_) {
    waiting[node.get()] = node->before.size();
    for (const Node* before : node->before) after[before].push_back(node.get());
    if (node->before.empty()) order.push_back(node.get());
  }
  for (std::size_t i = 0; i < order.size(); i++)
    for (Node* next : after[order[i]])
      if (--waiting[next] == 0) order.push_back(next);
  need(order.size() == nodes_.size(), Error::invalid_value, "the graph's nodes wait for one another in a circle");
  return order;
}

}  // namespace rapt::sim::hip
