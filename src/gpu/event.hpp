// Points in the work of a GPU's default stream, for callers that do not call its driver themselves.
#pragma once

#include "gpu/driver/driver.hpp"

namespace rapt::gpu {

class TimedEvent {
 public:
  explicit TimedEvent(rapt_device device);  // throws Error for a device that does not exist
  ~TimedEvent();
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;

  void record();
  // The device's milliseconds from `from` to this event; waits for this event. Throws Error if the driver refuses, as
  // it does if one of them was never recorded.
  double since(const TimedEvent& from) const;

 private:
  rapt_device id_;
  Driver& driver_;
  Event event_ = nullptr;
};

}  // namespace rapt::gpu
