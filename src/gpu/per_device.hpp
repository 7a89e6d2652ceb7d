// One T per device (hip:0 and cuda:0 are two devices), made on first use and kept. PerDevice objects are never
// destroyed: the driver's library may be unloaded before static objects are.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "rapt/rapt.h"

namespace rapt::gpu {

template <class T>
class PerDevice {
 public:
  // make() returns a std::unique_ptr<T>; its exceptions propagate, and the next call tries again. Takes no lock for a
  // known device: this is on the path of every call.
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
  std::atomic<Made*> first_{nullptr};  // a linked list; nothing is ever removed
};

}  // namespace rapt::gpu
