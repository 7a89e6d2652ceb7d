// Adding nodes to graphs, and their parameters.
#include "sim/hip/memory/copy.hpp"
#include "sim/hip/stream/event.hpp"
#include "sim/hip/graph/api.hpp"
#include "sim/hip/module/launch.hpp"

namespace rapt::sim::hip {

Work work_of(const KernelNodeParameters* p) {
  need_pointer(p);
  auto function = handles<Function>().find(p->function);
  if (!function) function = find_host_function(p->function, current_device());
  return make_launch(function, {p->grid, p->block, p->dynamic_lds}, p->arguments, p->extra);
}

Work work_of(const Copy3D* p) {
  need_pointer(p);
  return volume_copy(*p);
}

Work work_of(const FillParameters* p) {
  need_pointer(p);
  return pitched_fill(p->pointer, p->pitch, p->value, p->element_size, {p->width, p->height, 1}, 0);
}

Work work_of(const HostParameters* p) {
  need_pointer(p);
  need(p->function != nullptr, Error::invalid_value, "null function");
  return HostWork{p->function, p->data};
}

void replace_work(Node& node, Work work) {
  need(node.work.index() == work.index(), Error::invalid_value, "a node of another kind");
  node.work = std::move(work);
}

}  // namespace rapt::sim::hip

using namespace rapt::sim::hip;

namespace {

template <typename Make>
Error add(const char* function, NodeHandle* node, GraphHandle handle, const NodeHandle* before, std::size_t count,
          Make&& make) {
  return api(function, [&] {
    need_pointer(node);
    const auto graph = find_graph(handle);
    auto list = node_list(*graph, before, count);
    *node = graph->add(make(*graph), std::move(list));
    return Error::success;
  });
}

template <typename T>
T& work_in(NodeHandle handle) {
  T* work = std::get_if<T>(&find_node(handle).work);
  need(work != nullptr, Error::invalid_value, "a node of another kind");
  return *work;
}

template <typename Parameters>
Error set(const char* function, NodeHandle node, const Parameters* parameters) {
  return api(function, [&] {
    replace_work(find_node(node), work_of(parameters));
    return Error::success;
  });
}

std::shared_ptr<Event> find_event(EventHandle event) {
  return handles<Event>().need(event, Error::invalid_handle, "no such event");
}

template <typename T>
Error set_event(const char* function, NodeHandle node, EventHandle event) {
  return api(function, [&] {
    work_in<T>(node).event = find_event(event);
    return Error::success;
  });
}

template <typename T>
Error get_event(const char* function, NodeHandle node, EventHandle* event) {
  return api(function, [&] {
    need_pointer(event);
    *event = work_in<T>(node).event.get();
    return Error::success;
  });
}

}  // namespace

RAPT_HIP Error hipGraphAddEmptyNode(NodeHandle* node, GraphHandle g, const NodeHandle* before, std::size_t n) {
  return add(__func__, node, g, before, n, [](Graph&) { return Work(EmptyWork{}); });
}
RAPT_HIP Error hipGraphAddKernelNode(NodeHandle* node, GraphHandle g, const NodeHandle* before, std::size_t n,
                                     const KernelNodeParameters* p) {
  return add(__func__, node, g, before, n, [&](Graph&) { return work_of(p); });
}
RAPT_HIP Error hipGraphAddMemcpyNode(NodeHandle* node, GraphHandle g, const NodeHandle* before, std::size_t n,
                                     const Copy3D* p) {
  return add(__func__, node, g, before, n, [&](Graph&) { return work_of(p); });
}
RAPT_HIP Error hipGraphAddMemcpyNode1D(NodeHandle* node, GraphHandle g, const NodeHandle* before, std::size_t n,
                                       void* to, const void* from, std::size_t bytes, CopyKind kind) {
  return add(__func__, node, g, before, n, [&](Graph&) { return Work(plain_copy(to, from, bytes, kind)); });
}
RAPT_HIP Error hipGraphAddMemcpyNodeToSymbol(NodeHandle* node, GraphHandle g, const NodeHandle* before, std::size_t n,
                                             const void* symbol, const void* from, std::size_t bytes,
                                             std::size_t offset, CopyKind kind) {
  return add(__func__, node, g, before, n,
             [&](Graph&) { return Work(plain_copy(variable_part(symbol, offset, bytes), from, bytes, kind)); });
}
RAPT_HIP Error hipGraphAddMemcpyNodeFromSymbol(NodeHandle* node, GraphHandle g, const NodeHandle* before, std::size_t n,
                                               void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                               CopyKind kind) {
  return add(__func__, node, g, before, n,
             [&](Graph&) { return Work(plain_copy(to, variable_part(symbol, offset, bytes), bytes, kind)); });
}
RAPT_HIP Error hipGraphAddMemsetNode(NodeHandle* node, GraphHandle g, const NodeHandle* before, std::size_t n,
                                     const FillParameters* p) {
  return add(__func__, node, g, before, n, [&](Graph&) { return work_of(p); });
}
RAPT_HIP Error hipGraphAddHostNode(NodeHandle* node, GraphHandle g, const NodeHandle* before, std::size_t n,
                                   const HostParameters* p) {
  return add(__func__, node, g, before, n, [&](Graph&) { return work_of(p); });
}
RAPT_HIP Error hipGraphAddChildGraphNode(NodeHandle* node, GraphHandle g, const NodeHandle* before, std::size_t n,
                                         GraphHandle child) {
  return add(__func__, node, g, before, n, [&](Graph& graph) {
    const auto found = find_graph(child);
    need(found.get() != &graph, Error::invalid_value, "a graph cannot be in itself");
    return Work(GraphWork{found->clone()});
  });
}
RAPT_HIP Error hipGraphAddEventRecordNode(NodeHandle* node, GraphHandle g, const NodeHandle* before, std::size_t n,
                                          EventHandle event) {
  return add(__func__, node, g, before, n, [&](Graph&) { return Work(RecordWork{find_event(event)}); });
}
RAPT_HIP Error hipGraphAddEventWaitNode(NodeHandle* node, GraphHandle g, const NodeHandle* before, std::size_t n,
                                        EventHandle event) {
  return add(__func__, node, g, before, n, [&](Graph&) { return Work(EventWaitWork{find_event(event)}); });
}

RAPT_HIP Error hipGraphKernelNodeGetParams(NodeHandle handle, KernelNodeParameters* p) {
  return api(__func__, [&] {
    need_pointer(p);
    Node& node = find_node(handle);
    auto& work = work_in<KernelWork>(handle);
    node.argument_pointers.clear();
    for (const auto& argument : work.function->kernel().arguments)
      if (argument.kind <= rapt::sim::ArgumentKind::dynamic_shared_pointer)
        node.argument_pointers.push_back(work.arguments.data() + argument.offset);
    *p = {work.block, nullptr, work.function.get(), work.grid, node.argument_pointers.data(), work.dynamic_lds};
    return Error::success;
  });
}
RAPT_HIP Error hipGraphKernelNodeSetParams(NodeHandle node, const KernelNodeParameters* p) {
  return set(__func__, node, p);
}
RAPT_HIP Error hipGraphMemcpyNodeGetParams(NodeHandle node, Copy3D* p) {
  return api(__func__, [&] {
    need_pointer(p);
    const auto& work = work_in<CopyWork>(node);
    const auto rows = [](std::size_t slice, std::size_t pitch) { return pitch == 0 ? 0 : slice / pitch; };
    *p = {};
    p->to = {work.to, work.to_pitch, work.extent.width, rows(work.to_slice, work.to_pitch)};
    p->from = {const_cast<void*>(work.from), work.from_pitch, work.extent.width,
               rows(work.from_slice, work.from_pitch)};
    p->extent = work.extent;
    p->kind = work.kind;
    return Error::success;
  });
}
RAPT_HIP Error hipGraphMemcpyNodeSetParams(NodeHandle node, const Copy3D* p) { return set(__func__, node, p); }
RAPT_HIP Error hipGraphMemcpyNodeSetParams1D(NodeHandle node, void* to, const void* from, std::size_t bytes,
                                             CopyKind kind) {
  return api(__func__, [&] {
    replace_work(find_node(node), plain_copy(to, from, bytes, kind));
    return Error::success;
  });
}
RAPT_HIP Error hipGraphMemsetNodeGetParams(NodeHandle node, FillParameters* p) {
  return api(__func__, [&] {
    need_pointer(p);
    const auto& work = work_in<FillWork>(node);
    *p = {work.to, work.element_size, work.extent.height, work.pitch, work.value, work.extent.width};
    return Error::success;
  });
}
RAPT_HIP Error hipGraphMemsetNodeSetParams(NodeHandle node, const FillParameters* p) { return set(__func__, node, p); }
RAPT_HIP Error hipGraphHostNodeGetParams(NodeHandle node, HostParameters* p) {
  return api(__func__, [&] {
    need_pointer(p);
    const auto& work = work_in<HostWork>(node);
    *p = {work.function, work.data};
    return Error::success;
  });
}
RAPT_HIP Error hipGraphHostNodeSetParams(NodeHandle node, const HostParameters* p) { return set(__func__, node, p); }
RAPT_HIP Error hipGraphChildGraphNodeGetGraph(NodeHandle node, GraphHandle* graph) {
  return api(__func__, [&] {
    need_pointer(graph);
    *graph = handles<Graph>().add(work_in<GraphWork>(node).graph);
    return Error::success;
  });
}
RAPT_HIP Error hipGraphEventRecordNodeGetEvent(NodeHandle node, EventHandle* event) {
  return get_event<RecordWork>(__func__, node, event);
}
RAPT_HIP Error hipGraphEventRecordNodeSetEvent(NodeHandle node, EventHandle event) {
  return set_event<RecordWork>(__func__, node, event);
}
RAPT_HIP Error hipGraphEventWaitNodeGetEvent(NodeHandle node, EventHandle* event) {
  return get_event<EventWaitWork>(__func__, node, event);
}
RAPT_HIP Error hipGraphEventWaitNodeSetEvent(NodeHandle node, EventHandle event) {
  return set_event<EventWaitWork>(__func__, node, event);
}
