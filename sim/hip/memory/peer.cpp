// Access to other devices' memory. All devices are in one process and reach all of it; HIP's rules still apply.
#include "sim/hip/runtime.hpp"

using namespace rapt::sim::hip;

namespace {

Error enable(const char* function, int peer, unsigned flags) {
  return api(function, [&] {
    need(flags == 0, Error::invalid_value, "flags must be 0");
    Device& device = current_device();
    Runtime::get().device(peer);
    need(peer != device.id, Error::invalid_device, "a device is not its own peer");
    const std::lock_guard lock(device.order);
    return device.peers.insert(peer).second ? Error::success : Error::peer_access_already_enabled;
  });
}

Error disable(const char* function, int peer) {
  return api(function, [&] {
    Device& device = current_device();
    Runtime::get().device(peer);
    const std::lock_guard lock(device.order);
    return device.peers.erase(peer) != 0 ? Error::success : Error::peer_access_not_enabled;
  });
}

int number_of(ContextHandle context) {
  for (const auto& device : Runtime::get().devices())
    if (device.get() == context) return device->id;
  return -1;
}

}  // namespace

RAPT_HIP Error hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return api(__func__, [&] {
    need_pointer(can);
    Runtime::get().device(device);
    Runtime::get().device(peer);
    *can = device != peer ? 1 : 0;
    return Error::success;
  });
}
RAPT_HIP Error hipDeviceEnablePeerAccess(int peer, unsigned flags) { return enable(__func__, peer, flags); }
RAPT_HIP Error hipDeviceDisablePeerAccess(int peer) { return disable(__func__, peer); }
RAPT_HIP Error hipCtxEnablePeerAccess(ContextHandle peer, unsigned flags) {
  return enable(__func__, number_of(peer), flags);
}
RAPT_HIP Error hipCtxDisablePeerAccess(ContextHandle peer) { return disable(__func__, number_of(peer)); }

RAPT_HIP Error hipDeviceGetP2PAttribute(int* value, int attribute, int device, int peer) {
  return api(__func__, [&] {
    need_pointer(value);
    Runtime::get().device(device);
    Runtime::get().device(peer);
    need(device != peer, Error::invalid_device, "a device is not its own peer");
    need(attribute >= 0 && attribute <= 3, Error::invalid_value, "unknown attribute");
    *value = attribute == 1 || attribute == 2 ? 1 : 0;
    return Error::success;
  });
}

// Link type 4: xGMI.
RAPT_HIP Error hipExtGetLinkTypeAndHopCount(int device, int peer, std::uint32_t* type, std::uint32_t* hops) {
  return api(__func__, [&] {
    need_pointer(type);
    need_pointer(hops);
    Runtime::get().device(device);
    Runtime::get().device(peer);
    need(device != peer, Error::invalid_value, "a device is not its own peer");
    *type = 4;
    *hops = 1;
    return Error::success;
  });
}
