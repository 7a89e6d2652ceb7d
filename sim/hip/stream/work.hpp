// What can be put into a stream or be a node of a graph.
#pragma once

#include "sim/hip/abi/graph.hpp"
#include "sim/hip/module/module.hpp"

#include <memory>
#include <variant>
#include <vector>

namespace rapt::sim::hip {

class Event;
class Graph;

struct KernelWork {
  std::shared_ptr<Function> function;
  Dim3 grid, block;                         // in workgroups; in work-items
  std::uint32_t last_block[3] = {0, 0, 0};  // of the last workgroup of a ragged grid; 0: like the others
  std::uint32_t dynamic_lds = 0;
  std::vector<std::byte> arguments;
};

// height rows of width bytes, depth times.
struct CopyWork {
  void* to = nullptr;
  const void* from = nullptr;
  Extent extent{0, 1, 1};
  std::size_t to_pitch = 0, to_slice = 0, from_pitch = 0, from_slice = 0;
  CopyKind kind = CopyKind::automatic;
};

struct FillWork {
  void* to = nullptr;
  std::uint32_t value = 0;
  unsigned element_size = 1;
  Extent extent{0, 1, 1};  // the width in elements
  std::size_t pitch = 0, slice = 0;
};

struct HostWork {
  HostFunction function = nullptr;
  void* data = nullptr;
};

struct CallbackWork {  // hipStreamAddCallback
  StreamCallback function;
  StreamHandle stream;
  void* data;
};

struct WriteWork {  // hipStreamWriteValue
  void* to;
  std::uint64_t value;
  unsigned bytes;
};

struct WaitWork {  // hipStreamWaitValue
  const void* at;
  std::uint64_t value, mask;
  unsigned bytes, condition;
};

struct RecordWork {
  std::shared_ptr<Event> event;
};
struct EventWaitWork {
  std::shared_ptr<Event> event;
};
struct GraphWork {
  std::shared_ptr<Graph> graph;
};
struct AllocateWork {
  void* pointer;
  std::size_t bytes;
};
struct ReleaseWork {
  void* pointer;
  bool keep = false;  // for a graph's own memory, which the next launch uses again
};
struct EmptyWork {};

using Work = std::variant<EmptyWork, KernelWork, CopyWork, FillWork, HostWork, CallbackWork, WriteWork, WaitWork,
                          RecordWork, EventWaitWork, GraphWork, AllocateWork, ReleaseWork>;

// Does the work on the calling thread and advances the model's clock, in nanoseconds. A fault becomes the device's
// failure.
void execute(const Work& work, Device& device, double& clock);

}  // namespace rapt::sim::hip
