// One T for each device, hip:0 and cuda:0 being two, made on first use and kept. Objects of this are never destroyed:
// a driver's library may be gone by the time that static objects end.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "rapt/rapt.h"

namespace rapt::gpu {

template <class T>
class PerDevice {
 public:
  // make() gives a std::unique_ptr<T>; what it throws passes through, and the next call tries again. A device that is
  // known takes no lock: this is on the path of every call.
  template <class Make>
  T& get(rapt_device device, const Make& make) {
    if (T* const known = find(device)) return *known;
    const std::lock_guard lock(making_);
    if (T* const known = find(device)) return *known;
    Made* const made = new Made{device, make(), first_.load(std::memory_order_relaxed)};
    first_.store(made, std::memory_order_release);
    return *made->value;
  }

 private:
  struct Made {
    rapt_device device;
    std::unique_ptr<T> value;
    Made* next;
  };

  T* find(rapt_device device) const {
    for (const Made* made = first_.load(std::memory_order_acquire); made != nullptr; made = made->next)
      if (made->device.id == device.id && made->device.type == device.type) return made->value.get();
    return nullptr;
  }

  std::mutex making_;
  std::atomic<Made*> first_{nullptr};  // a list, whose members are never removed
};

}  // namespace rapt::gpu
