// How a program that opened one of the run-time libraries tells the simulator from ROCm: dlsym finds this through it.
extern "C" const char* rapt_sim_name() { return "the rapt simulator"; }
