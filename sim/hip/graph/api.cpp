// hipGraph* on graphs as a whole and on the order of their nodes.
#include "sim/hip/graph/api.hpp"

#include "sim/hip/version.hpp"

#include <algorithm>
#include <fstream>

namespace rapt::sim::hip {

std::vector<Node*> node_list(const Graph& graph, const NodeHandle* nodes, std::size_t count) {
  need(nodes != nullptr || count == 0, Error::invalid_value, "null pointer");
  std::vector<Node*> list;
  for (std::size_t i = 0; i < count; i++) {
    Node& node = find_node(nodes[i]);
    need(graph.has(&node), Error::invalid_value, "a node of another graph");
    need(std::find(list.begin(), list.end(), &node) == list.end(), Error::invalid_value, "a node twice");
    list.push_back(&node);
  }
  return list;
}

NodeType type_of(const Node& node) {
  struct Visitor {
    NodeType operator()(const KernelWork&) const { return NodeType::kernel; }
    NodeType operator()(const CopyWork&) const { return NodeType::copy; }
    NodeType operator()(const FillWork&) const { return NodeType::fill; }
    NodeType operator()(const GraphWork&) const { return NodeType::graph; }
    NodeType operator()(const RecordWork&) const { return NodeType::event_record; }
    NodeType operator()(const EventWaitWork&) const { return NodeType::event_wait; }
    NodeType operator()(const AllocateWork&) const { return NodeType::allocate; }
    NodeType operator()(const ReleaseWork&) const { return NodeType::release; }
    NodeType operator()(const EmptyWork&) const { return NodeType::empty; }
    NodeType operator()(const HostWork&) const { return NodeType::host; }
    NodeType operator()(const CallbackWork&) const { return NodeType::host; }
    NodeType operator()(const WriteWork&) const { return NodeType::fill; }
    NodeType operator()(const WaitWork&) const { return NodeType::event_wait; }
  };
  return std::visit(Visitor{}, node.work);
}

}  // namespace rapt::sim::hip

using namespace rapt::sim::hip;

namespace {

// The lists of HIP's graph functions: null asks for the count; an array longer than the list is filled up with null.
void give(const std::vector<Node*>& list, NodeHandle* nodes, std::size_t* count) {
  need_pointer(count);
  if (nodes != nullptr)
    for (std::size_t i = 0; i < *count; i++) nodes[i] = i < list.size() ? list[i] : nullptr;
  *count = nodes == nullptr ? list.size() : std::min(*count, list.size());
}

std::vector<Node*> all_nodes(const Graph& graph) {
  std::vector<Node*> list;
  for (const auto& node : graph.nodes()) list.push_back(node.get());
  return list;
}

Error change_order(const char* function, GraphHandle handle, const NodeHandle* from, const NodeHandle* to,
                   std::size_t count, bool add) {
  return api(function, [&] {
    const auto graph = find_graph(handle);
    need((from != nullptr && to != nullptr) || count == 0, Error::invalid_value, "null pointer");
    for (std::size_t i = 0; i < count; i++) {
      Node &first = find_node(from[i]), &second = find_node(to[i]);
      need(graph->has(&first) && graph->has(&second) && &first != &second, Error::invalid_value, "not two nodes of it");
      auto& before = second.before;
      const auto found = std::find(before.begin(), before.end(), &first);
      need((found == before.end()) == add, Error::invalid_value, add ? "is there already" : "is not there");
      if (add) before.push_back(&first);
      else before.erase(found);
    }
    return Error::success;
  });
}

}  // namespace

RAPT_HIP Error hipGraphCreate(GraphHandle* graph, unsigned flags) {
  return api(__func__, [&] {
    need_pointer(graph);
    need(flags == 0, Error::invalid_value, "flags must be 0");
    *graph = handles<Graph>().add(std::make_shared<Graph>());
    return Error::success;
  });
}

RAPT_HIP Error hipGraphDestroy(GraphHandle graph) {
  return api(__func__, [&] {
    need(handles<Graph>().remove(graph) != nullptr, Error::invalid_value, "no such graph");
    return Error::success;
  });
}

RAPT_HIP Error hipGraphClone(GraphHandle* clone, GraphHandle graph) {
  return api(__func__, [&] {
    need_pointer(clone);
    *clone = handles<Graph>().add(find_graph(graph)->clone());
    return Error::success;
  });
}

RAPT_HIP Error hipGraphNodeFindInClone(NodeHandle* found, NodeHandle original, GraphHandle clone) {
  return api(__func__, [&] {
    need_pointer(found);
    const auto graph = find_graph(clone);
    const Node& wanted = find_node(original);
    for (const auto& node : graph->nodes())
      if (node->original == &wanted) {
        *found = node.get();
        return Error::success;
      }
    return Error::invalid_value;
  });
}

RAPT_HIP Error hipGraphAddDependencies(GraphHandle g, const NodeHandle* from, const NodeHandle* to, std::size_t count) {
  return change_order(__func__, g, from, to, count, true);
}
RAPT_HIP Error hipGraphRemoveDependencies(GraphHandle g, const NodeHandle* from, const NodeHandle* to,
                                          std::size_t count) {
  return change_order(__func__, g, from, to, count, false);
}

RAPT_HIP Error hipGraphGetNodes(GraphHandle graph, NodeHandle* nodes, std::size_t* count) {
  return api(__func__, [&] {
    give(all_nodes(*find_graph(graph)), nodes, count);
    return Error::success;
  });
}

RAPT_HIP Error hipGraphGetRootNodes(GraphHandle graph, NodeHandle* nodes, std::size_t* count) {
  return api(__func__, [&] {
    auto list = all_nodes(*find_graph(graph));
    std::erase_if(list, [](const Node* node) { return !node->before.empty(); });
    give(list, nodes, count);
    return Error::success;
  });
}

RAPT_HIP Error hipGraphGetEdges(GraphHandle graph, NodeHandle* from, NodeHandle* to, std::size_t* count) {
  return api(__func__, [&] {
    need_pointer(count);
    need((from == nullptr) == (to == nullptr), Error::invalid_value, "one of two arrays");
    std::size_t edges = 0;
    for (const auto& node : find_graph(graph)->nodes())
      for (Node* before : node->before) {
        if (from != nullptr && edges < *count) {
          from[edges] = before;
          to[edges] = node.get();
        }
        edges++;
      }
    for (std::size_t i = edges; from != nullptr && i < *count; i++) from[i] = to[i] = nullptr;
    *count = from == nullptr ? edges : std::min(*count, edges);
    return Error::success;
  });
}

RAPT_HIP Error hipGraphNodeGetDependencies(NodeHandle node, NodeHandle* nodes, std::size_t* count) {
  return api(__func__, [&] {
    give(find_node(node).before, nodes, count);
    return Error::success;
  });
}

RAPT_HIP Error hipGraphNodeGetDependentNodes(NodeHandle handle, NodeHandle* nodes, std::size_t* count) {
  return api(__func__, [&] {
    Node& node = find_node(handle);
    auto list = all_nodes(*node.graph);
    std::erase_if(list, [&](const Node* other) {
      return std::find(other->before.begin(), other->before.end(), &node) == other->before.end();
    });
    give(list, nodes, count);
    return Error::success;
  });
}

RAPT_HIP Error hipGraphNodeGetType(NodeHandle node, int* type) {
  return api(__func__, [&] {
    need_pointer(type);
    *type = static_cast<int>(type_of(find_node(node))) + (major == 5 ? 1 : 0);
    return Error::success;
  });
}

RAPT_HIP Error hipGraphDestroyNode(NodeHandle handle) {
  return api(__func__, [&] {
    Node& node = find_node(handle);
    node.graph->remove(&node);
    return Error::success;
  });
}

// The graph in Graphviz's format.
RAPT_HIP Error hipGraphDebugDotPrint(GraphHandle handle, const char* path, unsigned) {
  return api(__func__, [&] {
    need_pointer(path);
    const auto graph = find_graph(handle);
    std::ofstream file(path);
    need(bool(file), Error::operating_system, "the file cannot be written");
    static constexpr const char* names[] = {"kernel", "memcpy", "memset", "host", "graph", "empty", "wait", "record"};
    file << "digraph graph_ {\n";
    for (const auto& node : graph->nodes()) {
      const auto type = static_cast<unsigned>(type_of(*node));
      const auto* kernel = std::get_if<KernelWork>(&node->work);
      file << "  \"" << node.get() << "\" [label=\""
           << (kernel != nullptr ? kernel->function->kernel().name
               : type < 8        ? names[type]
                                 : "memory")
           << "\"];\n";
      for (const Node* before : node->before) file << "  \"" << before << "\" -> \"" << node.get() << "\";\n";
    }
    file << "}\n";
    return Error::success;
  });
}
