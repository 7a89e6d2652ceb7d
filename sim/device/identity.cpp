// How a program that opened one of the run-time libraries tells the simulator from ROCm: dlsym finds these through it.
#include "sim/device/environment.hpp"
#include "sim/timing/model.hpp"

extern "C" const char* rapt_sim_name() { return "the rapt simulator"; }

// What the times of events come from; "" if RAPT_SIM_TIME does not ask for forecasts.
extern "C" const char* rapt_sim_time_model() {
  return rapt::sim::environment().time == rapt::sim::TimeMode::off ? "" : rapt::sim::timing::model_name;
}
