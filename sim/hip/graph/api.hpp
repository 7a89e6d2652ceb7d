// What the files of hipGraph* functions share.
#pragma once

#include "sim/hip/graph/graph.hpp"
#include "sim/hip/handles.hpp"

namespace rapt::sim::hip {

inline std::shared_ptr<Graph> find_graph(GraphHandle graph) {
  return handles<Graph>().need(graph, Error::invalid_value, "no such graph");
}

std::vector<Node*> node_list(const Graph& graph, const NodeHandle* nodes, std::size_t count);
NodeType type_of(const Node& node);

// Checks the parameters of HIP's functions and makes work from them.
Work work_of(const KernelNodeParameters* parameters);
Work work_of(const Copy3D* parameters);
Work work_of(const FillParameters* parameters);
Work work_of(const HostParameters* parameters);

// The node of an executable graph that was made from the given one.
Node& find_in(ExecutableGraph& graph, NodeHandle original);
std::shared_ptr<ExecutableGraph> find_executable(ExecHandle handle);
// Replaces the work by another of the same kind; fails if the kinds differ.
void replace_work(Node& node, Work work);

}  // namespace rapt::sim::hip
