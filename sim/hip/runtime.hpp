// The devices of the process and what each host thread has chosen.
#pragma once

#include "sim/device/device.hpp"
#include "sim/hip/abi/launch.hpp"
#include "sim/hip/error.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace rapt::sim::hip {

class Stream;
struct Pool;

struct Device {
  Device(int id, Arch arch, const timing::Chip* chip);
  ~Device();

  int id;
  Arch arch;
  const timing::Chip* chip;
  Properties properties;
  std::mutex order;                           // held while an operation is put into a stream
  std::shared_ptr<Stream> null_stream;        // the legacy default stream
  std::set<std::shared_ptr<Stream>> streams;  // all, the default one too
  // The error of a failed kernel: kept until the device is reset, as in HIP.
  std::atomic<Error> failure{Error::success};
  std::atomic<unsigned> flags{0};
  std::set<int> peers;  // devices whose memory was enabled here
  std::shared_ptr<Pool> default_pool, pool;

  // Waits for all streams; the device's failure, if any.
  Error synchronize();
  void check() const { need(failure == Error::success, failure, "the device failed in an earlier kernel"); }
};

class Runtime {
 public:
  // The devices that RAPT_SIM_ARCH names. Never destroyed: libraries may call HIP until the process ends.
  static Runtime& get();

  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  Device& device(int id) const;
  // Ends all streams' work at the end of the process.
  void drain();

 private:
  Runtime();
  std::vector<std::unique_ptr<Device>> devices_;
};

struct CallConfiguration {
  Dim3 grid, block;
  std::size_t dynamic_lds = 0;
  StreamHandle stream = nullptr;
  std::vector<std::byte> arguments;  // of hipSetupArgument
};

struct Thread {
  int device = 0;
  Error last_error = Error::success, last_command_error = Error::success;
  std::vector<CallConfiguration> configurations;
  std::vector<ContextHandle> contexts;
  int capture_mode = 0;
  std::map<int, std::shared_ptr<Stream>> streams;  // hipStreamPerThread, by device
  ~Thread();
};
Thread& thread();

inline Device& current_device() { return Runtime::get().device(thread().device); }

}  // namespace rapt::sim::hip
