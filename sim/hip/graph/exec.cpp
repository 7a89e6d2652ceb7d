// Graphs that are launched.
#include "sim/hip/memory/copy.hpp"
#include "sim/hip/stream/event.hpp"
#include "sim/hip/graph/api.hpp"
#include "sim/hip/stream/stream.hpp"

#include <algorithm>

namespace rapt::sim::hip {

std::shared_ptr<ExecutableGraph> find_executable(ExecHandle handle) {
  return handles<ExecutableGraph>().need(handle, Error::invalid_value, "no such executable graph");
}

Node& find_in(ExecutableGraph& executable, NodeHandle original) {
  const Node& wanted = find_node(original);
  for (const auto& node : executable.graph->nodes())
    if (node->original == &wanted) return *node;
  throw Failure(Error::invalid_value, "a node of another graph");
}

}  // namespace rapt::sim::hip

using namespace rapt::sim::hip;

namespace {

Error instantiate(const char* function, ExecHandle* handle, GraphHandle graph, unsigned long long flags) {
  return api(function, [&] {
    need_pointer(handle);
    auto executable = std::make_shared<ExecutableGraph>();
    executable->graph = find_graph(graph)->clone();
    executable->flags = flags;
    executable->graph->ordered();  // fails if nodes wait for one another
    *handle = handles<ExecutableGraph>().add(std::move(executable));
    return Error::success;
  });
}

Error launch(const char* function, ExecHandle handle, StreamHandle stream) {
  return api(function, [&] {
    const auto executable = find_executable(handle);
    submit(find_stream(stream), GraphWork{executable->graph});
    return Error::success;
  });
}

template <typename Make>
Error set(const char* function, ExecHandle handle, NodeHandle node, Make&& make) {
  return api(function, [&] {
    const auto executable = find_executable(handle);
    replace_work(find_in(*executable, node), make());
    return Error::success;
  });
}

template <typename T>
Error set_event(const char* function, ExecHandle handle, NodeHandle node, EventHandle event) {
  return set(function, handle, node,
             [&] { return Work(T{handles<Event>().need(event, Error::invalid_handle, "no such event")}); });
}

// Whether the nodes of two graphs, in the order in which they were added, have the same kinds and edges.
UpdateResult compare(const Graph& from, const Graph& to) {
  if (from.nodes().size() != to.nodes().size()) return UpdateResult::topology_changed;
  const auto place = [](const Graph& graph, const Node* node) {
    return std::find_if(graph.nodes().begin(), graph.nodes().end(), [&](const auto& n) { return n.get() == node; }) -
           graph.nodes().begin();
  };
  for (std::size_t i = 0; i < to.nodes().size(); i++) {
    const Node &a = *from.nodes()[i], &b = *to.nodes()[i];
    if (a.work.index() != b.work.index()) return UpdateResult::node_type_changed;
    if (a.before.size() != b.before.size()) return UpdateResult::topology_changed;
    for (std::size_t k = 0; k < a.before.size(); k++)
      if (place(from, a.before[k]) != place(to, b.before[k])) return UpdateResult::topology_changed;
  }
  return UpdateResult::success;
}

}  // namespace

RAPT_HIP Error hipGraphInstantiate(ExecHandle* handle, GraphHandle graph, NodeHandle* error_node, char* text,
                                   std::size_t size) {
  if (error_node != nullptr) *error_node = nullptr;
  if (text != nullptr && size != 0) *text = 0;
  return instantiate(__func__, handle, graph, 0);
}
RAPT_HIP Error hipGraphInstantiateWithFlags(ExecHandle* handle, GraphHandle graph, unsigned long long flags) {
  return instantiate(__func__, handle, graph, flags);
}
RAPT_HIP Error hipGraphInstantiateWithParams(ExecHandle* handle, GraphHandle graph, InstantiateParameters* p) {
  if (p == nullptr) return api(__func__, [] { return Error::invalid_value; });
  p->error_node = nullptr;
  const Error error = instantiate(__func__, handle, graph, p->flags);
  p->result = error == Error::success ? 0 : 1;
  return error;
}
RAPT_HIP Error hipGraphExecGetFlags(ExecHandle handle, unsigned long long* flags) {
  return api(__func__, [&] {
    need_pointer(flags);
    *flags = find_executable(handle)->flags;
    return Error::success;
  });
}
RAPT_HIP Error hipGraphExecDestroy(ExecHandle handle) {
  return api(__func__, [&] {
    need(handles<ExecutableGraph>().remove(handle) != nullptr, Error::invalid_value, "no such executable graph");
    return Error::success;
  });
}
RAPT_HIP Error hipGraphLaunch(ExecHandle handle, StreamHandle stream) { return launch(__func__, handle, stream); }
RAPT_HIP Error hipGraphLaunch_spt(ExecHandle handle, StreamHandle stream) {
  return launch(__func__, handle, own(stream));
}
RAPT_HIP Error hipGraphUpload(ExecHandle handle, StreamHandle stream) {
  return api(__func__, [&] {
    find_executable(handle);
    find_stream(stream);
    return Error::success;
  });
}

RAPT_HIP Error hipGraphExecKernelNodeSetParams(ExecHandle e, NodeHandle node, const KernelNodeParameters* p) {
  return set(__func__, e, node, [&] { return work_of(p); });
}
RAPT_HIP Error hipGraphExecMemcpyNodeSetParams(ExecHandle e, NodeHandle node, Copy3D* p) {
  return set(__func__, e, node, [&] { return work_of(p); });
}
RAPT_HIP Error hipGraphExecMemcpyNodeSetParams1D(ExecHandle e, NodeHandle node, void* to, const void* from,
                                                 std::size_t bytes, CopyKind kind) {
  return set(__func__, e, node, [&] { return Work(plain_copy(to, from, bytes, kind)); });
}
RAPT_HIP Error hipGraphExecMemsetNodeSetParams(ExecHandle e, NodeHandle node, const FillParameters* p) {
  return set(__func__, e, node, [&] { return work_of(p); });
}
RAPT_HIP Error hipGraphExecHostNodeSetParams(ExecHandle e, NodeHandle node, const HostParameters* p) {
  return set(__func__, e, node, [&] { return work_of(p); });
}
RAPT_HIP Error hipGraphExecChildGraphNodeSetParams(ExecHandle e, NodeHandle node, GraphHandle child) {
  return set(__func__, e, node, [&] { return Work(GraphWork{find_graph(child)->clone()}); });
}
RAPT_HIP Error hipGraphExecEventRecordNodeSetEvent(ExecHandle e, NodeHandle node, EventHandle event) {
  return set_event<RecordWork>(__func__, e, node, event);
}
RAPT_HIP Error hipGraphExecEventWaitNodeSetEvent(ExecHandle e, NodeHandle node, EventHandle event) {
  return set_event<EventWaitWork>(__func__, e, node, event);
}

RAPT_HIP Error hipGraphNodeSetEnabled(ExecHandle e, NodeHandle node, unsigned enabled) {
  return api(__func__, [&] {
    const auto executable = find_executable(e);
    Node& found = find_in(*executable, node);
    const NodeType type = type_of(found);
    need(type == NodeType::kernel || type == NodeType::copy || type == NodeType::fill, Error::invalid_value,
         "only kernels, copies and fills can be left out");
    found.enabled = enabled != 0;
    return Error::success;
  });
}
RAPT_HIP Error hipGraphNodeGetEnabled(ExecHandle e, NodeHandle node, unsigned* enabled) {
  return api(__func__, [&] {
    need_pointer(enabled);
    *enabled = find_in(*find_executable(e), node).enabled ? 1 : 0;
    return Error::success;
  });
}

RAPT_HIP Error hipGraphExecUpdate(ExecHandle e, GraphHandle graph, NodeHandle* error_node, UpdateResult* result) {
  return api(__func__, [&] {
    need(error_node != nullptr && result != nullptr, Error::invalid_value, "null pointer");
    *error_node = nullptr;
    *result = UpdateResult::error;
    const auto executable = find_executable(e);
    const auto changed = find_graph(graph);
    *result = compare(*executable->graph, *changed);
    need(*result == UpdateResult::success, Error::graph_exec_update_failure, "the graph has other nodes or edges");
    for (std::size_t i = 0; i < changed->nodes().size(); i++)
      executable->graph->nodes()[i]->work = changed->nodes()[i]->work;
    return Error::success;
  });
}
