// `rapt doctor --report`, for users with a GPU to post.
#pragma once

namespace rapt::cli {

int doctor_report();  // 1 if a check fails, or nothing can be checked

// The parts that plain `rapt doctor` prints too.
void print_machine();
void print_devices();
void print_archives(bool verify);  // verify: decompresses and checks every kernel
void print_gpus_without_kernels();

}  // namespace rapt::cli
