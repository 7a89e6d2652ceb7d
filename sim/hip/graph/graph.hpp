// A graph of work, and its launchable form, which is a separate graph.
#pragma once

#include "sim/hip/stream/work.hpp"

#include <memory>
#include <set>
#include <vector>

namespace rapt::sim::hip {

struct Node {
  Node();
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Work work;
  std::vector<Node*> before;  // in the order in which they were added
  Graph* graph = nullptr;
  const Node* original = nullptr;  // in the graph that this node's graph was cloned from
  bool enabled = true;
  // Arguments of a kernel's node, as hipGraphKernelNodeGetParams returns them.
  std::vector<void*> argument_pointers;
};

class Graph {
 public:
  Node* add(Work work, std::vector<Node*> before);
  void remove(Node* node);
  std::unique_ptr<Graph> clone() const;
  // Every node after those it depends on; fails if there is a cycle.
  std::vector<Node*> ordered() const;

  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  bool has(const Node* node) const;

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
};

struct ExecutableGraph {
  std::shared_ptr<Graph> graph;
  unsigned long long flags = 0;
};

// Nodes are handles too, and live as long as their graph.
Node& find_node(NodeHandle handle);

}  // namespace rapt::sim::hip
