/* A program as it was built against the rapt.h of Rapt 0.1: the declarations that it used are copied from there. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct rapt_kernel_01 {
  size_t struct_size;
  const char* name;
  const char* operation;
  const char* symbol;
  const char* features;
  const char* p;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int32_t head_dim;
  int32_t block_q, block_k;
  int32_t waves, threads;
  int32_t lds;
  int32_t vgprs, agprs, sgprs;
  int32_t occupancy;
  int32_t kernarg_size;
  uint32_t crc32;
  uint64_t size, stored_size;
} rapt_kernel_01;

int rapt_archive_open(const char* place, const char* arch, void** archive);
void rapt_archive_close(void* archive);
int rapt_archive_kernel(const void* archive, size_t index, rapt_kernel_01* kernel);

/* What rapt_archive_kernel returned, and whether it wrote anything. */
int ask_as_before_02(const char* path, int* written) {
  void* archive;
  rapt_kernel_01 kernel, before;
  int status = rapt_archive_open(path, NULL, &archive);
  if (status != 0) return status;
  memset(&kernel, 0x5a, sizeof kernel);
  kernel.struct_size = sizeof kernel;
  before = kernel;
  status = rapt_archive_kernel(archive, 0, &kernel);
  *written = memcmp(&before, &kernel, sizeof kernel) != 0;
  rapt_archive_close(archive);
  return status;
}
