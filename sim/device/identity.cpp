// How a program that opened one of the run-time libraries tells the simulator from ROCm: dlsym finds these through it.
#include "sim/device/environment.hpp"
#include "sim/timing/model.hpp"

extern "C" const char* rapt_sim_name() { return "the rapt simulator"; }

// What the times of events come from; "" if RAPT_SIM_TIME does not ask for forecasts.
extern "C" const char* rapt_sim_time_model() {
  using rapt::sim::TimeMode;
  const TimeMode time = rapt::sim::environment().time;
  return time == TimeMode::off || time == TimeMode::unknown ? "" : rapt::sim::timing::model_name;
}
