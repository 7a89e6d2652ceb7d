#include "engine/backend.hpp"

namespace rapt {

const std::vector<std::unique_ptr<const Backend>>& backends() {
  static const auto& all = *[] {  // never destroyed: calls may run while the process ends
    auto* list = new std::vector<std::unique_ptr<const Backend>>;
    add_cpu_backends(*list);
    add_math_backend(*list);
    add_gpu_backends(*list);
    return list;
  }();
  return all;
}

}  // namespace rapt
