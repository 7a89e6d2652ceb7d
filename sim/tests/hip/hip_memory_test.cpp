// Memory, copies and properties through each of the three HIP libraries.
#include <gtest/gtest.h>

#include "sim/hip/abi/memory.hpp"
#include "sim/tests/support/programs/hip_library.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <numeric>

namespace rapt::sim::test {
namespace {

using namespace hip;

[[maybe_unused]] const int configured = setenv("RAPT_SIM_ARCH", "gfx942,gfx1100", 1);

class HipMemory : public OnEachLibrary {};
class HipDevice : public OnEachLibrary {};

constexpr int host_to_device = 1, device_to_host = 2, device_to_device = 3, automatic = 4;
constexpr int invalid_value = 1, out_of_memory = 2, invalid_device = 101;

TEST_P(HipDevice, AreThoseOfTheEnvironment) {
  int count = 0;
  EXPECT_EQ(hip("hipGetDeviceCount", &count), 0);
  EXPECT_EQ(count, 2);
  char name[64];
  EXPECT_EQ(hip("hipDeviceGetName", &name[0], 64, 0), 0);
  EXPECT_STREQ(name, "AMD Instinct MI300X");
  EXPECT_EQ(hip("hipDeviceGetName", &name[0], 8, 1), 0);
  EXPECT_STREQ(name, "AMD Rad");
  EXPECT_EQ(hip("hipSetDevice", 2), invalid_device);
  EXPECT_EQ(hip("hipSetDevice", -1), invalid_device);
  int version = 0;
  EXPECT_EQ(hip("hipRuntimeGetVersion", &version), 0);
  EXPECT_EQ(version / 10000000, hip.major);
}

TEST_P(HipDevice, PropertiesInBothLayouts) {
  PropertiesR0000 old{};
  PropertiesR0600 now{};
  EXPECT_EQ(hip("hipGetDeviceProperties", &old, 0), 0);
  EXPECT_EQ(hip("hipGetDevicePropertiesR0600", &now, 0), 0);
  EXPECT_STREQ(old.gcnArchName, "gfx942:sramecc+:xnack-");
  EXPECT_STREQ(now.gcnArchName, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(old.multiProcessorCount, 304);
  EXPECT_EQ(now.multiProcessorCount, 304);
  EXPECT_EQ(now.warpSize, 64);
  EXPECT_EQ(old.gcnArch, 942);
  EXPECT_EQ(now.major * 10 + now.minor, 94);
  EXPECT_EQ(old.sharedMemPerBlock, 65536U);
  EXPECT_EQ(now.maxThreadsPerMultiProcessor, 2048);
  EXPECT_EQ(old.totalGlobalMem, now.totalGlobalMem);
  EXPECT_EQ(hip("hipGetDevicePropertiesR0600", &now, 1), 0);
  EXPECT_EQ(now.warpSize, 32);
  EXPECT_EQ(now.multiProcessorCount, 48);
  EXPECT_EQ(now.regsPerBlock, 65536);
  EXPECT_EQ(hip("hipGetDeviceProperties", &old, 5), invalid_device);
  EXPECT_EQ(hip("hipGetDeviceProperties", static_cast<void*>(nullptr), 0), invalid_value);
}

TEST_P(HipDevice, AttributesAreThePropertiesNumbers) {
  const auto get = [&](int attribute, int device) {
    int value = -1;
    EXPECT_EQ(hip("hipDeviceGetAttribute", &value, attribute, device), 0) << attribute;
    return value;
  };
  EXPECT_EQ(get(attribute_warp_size, 0), 64);
  EXPECT_EQ(get(attribute_warp_size, 1), 32);
  EXPECT_EQ(get(attribute_multiprocessor_count, 0), 304);
  EXPECT_EQ(get(attribute_max_shared_memory_per_block, 0), 65536);
  EXPECT_EQ(get(attribute_compute_capability_major, 1), 11);
  EXPECT_EQ(get(attribute_clock_rate, 0), 2100000);
  EXPECT_EQ(get(attribute_physical_multi_processor_count, 1), 96);
  EXPECT_EQ(get(attribute_number_of_xccs, 0), 8);
  int value = 0;
  EXPECT_EQ(hip("hipDeviceGetAttribute", &value, 12345, 0), invalid_value);
  EXPECT_EQ(hip("hipDeviceGetAttribute", &value, 5, 7), invalid_device);
  int bus = -1;
  char text[16];
  EXPECT_EQ(hip("hipDeviceGetPCIBusId", &text[0], 16, 1), 0);
  EXPECT_EQ(hip("hipDeviceGetByPCIBusId", &bus, static_cast<const char*>(text)), 0);
  EXPECT_EQ(bus, 1);
}

TEST_P(HipDevice, PeersMustBeAskedFor) {
  int can = 0;
  EXPECT_EQ(hip("hipDeviceCanAccessPeer", &can, 0, 1), 0);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(hip("hipDeviceEnablePeerAccess", 1, 0U), 0);
  EXPECT_EQ(hip("hipDeviceEnablePeerAccess", 1, 0U), 704);
  EXPECT_EQ(hip("hipDeviceDisablePeerAccess", 1), 0);
  EXPECT_EQ(hip("hipDeviceDisablePeerAccess", 1), 705);
  EXPECT_EQ(hip("hipDeviceEnablePeerAccess", 0, 0U), invalid_device);
}

TEST_P(HipMemory, IsCountedAndFreedOnce) {
  std::size_t before = 0, during = 0, after = 0, total = 0;
  EXPECT_EQ(hip("hipMemGetInfo", &before, &total), 0);
  void* pointer = nullptr;
  EXPECT_EQ(hip("hipMalloc", &pointer, std::size_t{1} << 20), 0);
  EXPECT_EQ(hip("hipMemGetInfo", &during, &total), 0);
  EXPECT_GE(before - during, std::size_t{1} << 20);
  EXPECT_EQ(hip("hipFree", pointer), 0);
  EXPECT_EQ(hip("hipMemGetInfo", &after, &total), 0);
  EXPECT_EQ(before, after);
  EXPECT_EQ(hip("hipFree", pointer), invalid_value);
  EXPECT_EQ(hip("hipFree", static_cast<void*>(nullptr)), 0);
  int local = 0;
  EXPECT_EQ(hip("hipFree", static_cast<void*>(&local)), invalid_value);
  EXPECT_EQ(hip("hipMalloc", static_cast<void**>(nullptr), std::size_t{4}), invalid_value);
  EXPECT_EQ(hip("hipMalloc", &pointer, std::size_t{0}), 0);
  EXPECT_EQ(pointer, nullptr);
}

TEST_P(HipMemory, HasAnEnd) {
  void* pointer = this;
  EXPECT_EQ(hip("hipMalloc", &pointer, ~std::size_t{0}), out_of_memory);
  EXPECT_EQ(hip("hipMalloc", &pointer, std::size_t{200} << 30), out_of_memory);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(hip("hipSetDevice", 1), 0);
  EXPECT_EQ(hip("hipMalloc", &pointer, std::size_t{30} << 30), out_of_memory);
}

TEST_P(HipMemory, CopiesInEveryDirection) {
  std::vector<int> in(1000), out(1000);
  std::iota(in.begin(), in.end(), 5);
  int *a = allocate<int>(1000), *b = allocate<int>(1000);
  const std::size_t bytes = 4000;
  EXPECT_EQ(hip("hipMemcpy", a, in.data(), bytes, host_to_device), 0);
  EXPECT_EQ(hip("hipMemcpy", b, a, bytes, device_to_device), 0);
  EXPECT_EQ(hip("hipMemcpy", out.data(), b, bytes, device_to_host), 0);
  EXPECT_EQ(in, out);
  EXPECT_EQ(hip("hipMemset", b, 0, bytes), 0);
  EXPECT_EQ(hip("hipMemcpyPeer", b, 1, a, 0, bytes), 0);
  EXPECT_EQ(hip("hipMemcpyDtoH", out.data(), b + 500, std::size_t{2000}), 0);
  EXPECT_EQ(out[0], 505);
  hip("hipFree", a);
  hip("hipFree", b);
}

TEST_P(HipMemory, BadCopiesAreRefused) {
  int* a = allocate<int>(100);
  std::vector<int> host(200);
  EXPECT_EQ(hip("hipMemcpy", a, host.data(), std::size_t{404}, host_to_device), invalid_value);
  EXPECT_EQ(hip("hipMemcpy", a + 1, host.data(), std::size_t{400}, automatic), invalid_value);
  EXPECT_EQ(hip("hipMemcpy", a, host.data(), std::size_t{4}, 77), 21);
  EXPECT_EQ(hip("hipMemcpy", static_cast<int*>(nullptr), host.data(), std::size_t{4}, host_to_device), invalid_value);
  EXPECT_EQ(hip("hipMemcpy", host.data(), host.data() + 100, std::size_t{4}, device_to_host), invalid_value);
  EXPECT_EQ(hip("hipMemcpy", host.data(), host.data() + 100, std::size_t{4}, host_to_device), invalid_value);
  void* nowhere = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(nowhere, 8192);
  EXPECT_EQ(hip("hipMemcpy", a, nowhere, std::size_t{4}, host_to_device), invalid_value);
  EXPECT_EQ(hip("hipMemcpyAsync", nowhere, a, std::size_t{4}, device_to_host, static_cast<void*>(nullptr)),
            invalid_value);
  EXPECT_EQ(hip("hipMemset", host.data(), 0, std::size_t{4}), invalid_value);
  EXPECT_EQ(hip("hipMemset", a, 0, std::size_t{401}), invalid_value);
  EXPECT_EQ(hip("hipFree", a), 0);
  EXPECT_EQ(hip("hipMemcpy", host.data(), a, std::size_t{4}, device_to_host), invalid_value);
  EXPECT_EQ(hip("hipMemcpyAsync", host.data(), a, std::size_t{4}, device_to_host, static_cast<void*>(&host)), 400);
}

TEST_P(HipMemory, CopiesRectangles) {
  void* pointer = nullptr;
  std::size_t pitch = 0;
  EXPECT_EQ(hip("hipMallocPitch", &pointer, &pitch, std::size_t{30}, std::size_t{5}), 0);
  EXPECT_EQ(pitch % 256, 0U);
  std::vector<char> in(30 * 5), out(20 * 3, 'x');
  std::iota(in.begin(), in.end(), 1);
  EXPECT_EQ(
      hip("hipMemcpy2D", pointer, pitch, in.data(), std::size_t{30}, std::size_t{30}, std::size_t{5}, host_to_device),
      0);
  const char* inside = static_cast<char*>(pointer) + pitch + 7;
  EXPECT_EQ(
      hip("hipMemcpy2D", out.data(), std::size_t{20}, inside, pitch, std::size_t{20}, std::size_t{3}, device_to_host),
      0);
  for (int y = 0; y < 3; y++)
    for (int x = 0; x < 20; x++) ASSERT_EQ(out[size_t(y * 20 + x)], in[size_t((y + 1) * 30 + x + 7)]);
  EXPECT_EQ(hip("hipMemcpy2D", pointer, std::size_t{20}, in.data(), std::size_t{30}, std::size_t{30}, std::size_t{5},
                host_to_device),
            12);
  EXPECT_EQ(
      hip("hipMemcpy2D", pointer, pitch, in.data(), std::size_t{30}, std::size_t{30}, std::size_t{6}, host_to_device),
      invalid_value);

  DriverCopy2D driver{};
  driver.from_type = hip.major == 5 ? int{rocm5::memory_device} : int{rocm6::memory_device};
  driver.to_type = hip.major == 5 ? int{rocm5::memory_host} : int{rocm6::memory_host};
  driver.from_device = pointer;
  driver.from_pitch = pitch;
  driver.from_x = 3;
  driver.from_y = 2;
  driver.to_host = out.data();
  driver.to_pitch = 20;
  driver.width = 10;
  driver.height = 2;
  EXPECT_EQ(hip("hipMemcpyParam2D", &driver), 0);
  EXPECT_EQ(out[0], in[2 * 30 + 3]);
  EXPECT_EQ(out[20], in[3 * 30 + 3]);
  hip("hipFree", pointer);
}

TEST_P(HipMemory, CopiesVolumes) {
  PitchedPointer pitched{};
  EXPECT_EQ(hip("hipMalloc3D", &pitched, Extent{16, 4, 3}), 0);
  EXPECT_EQ(hip("hipMemset3D", pitched, 9, Extent{16, 4, 3}), 0);
  std::vector<char> in(16 * 4 * 3), out(16 * 4 * 3);
  std::iota(in.begin(), in.end(), 0);
  Copy3D copy{};
  copy.from = {in.data(), 16, 16, 4};
  copy.to = pitched;
  copy.extent = {16, 4, 3};
  copy.kind = CopyKind::host_to_device;
  EXPECT_EQ(hip("hipMemcpy3D", &copy), 0);
  Copy3D back{};
  back.from = pitched;
  back.to = {out.data(), 16, 16, 4};
  back.from_position = {2, 1, 1};
  back.to_position = {2, 1, 1};
  back.extent = {14, 3, 2};
  back.kind = CopyKind::device_to_host;
  EXPECT_EQ(hip("hipMemcpy3D", &back), 0);
  for (int z = 0; z < 3; z++)
    for (int y = 0; y < 4; y++)
      for (int x = 0; x < 16; x++) {
        const auto at = size_t(x + 16 * (y + 4 * z));
        ASSERT_EQ(out[at], x >= 2 && y >= 1 && z >= 1 ? in[at] : 0) << x << y << z;
      }
  // The driver's form has 32-bit sizes in ROCm 5.
  std::fill(out.begin(), out.end(), char{0});
  const auto fill_in = [&](auto& p) {
    p = {};
    p.from_type = hip.major == 5 ? int{rocm5::memory_device} : int{rocm6::memory_device};
    p.to_type = hip.major == 5 ? int{rocm5::memory_host} : int{rocm6::memory_host};
    p.from_device = pitched.pointer;
    p.from_pitch = static_cast<unsigned>(pitched.pitch);
    p.from_height = 4;
    p.to_host = out.data();
    p.to_pitch = 16;
    p.to_height = 4;
    p.width = 16;
    p.height = 4;
    p.depth = 3;
    EXPECT_EQ(hip("hipDrvMemcpy3D", static_cast<const void*>(&p)), 0);
  };
  DriverCopy3D<unsigned> small;
  DriverCopy3D<std::size_t> large;
  if (hip.major == 5) fill_in(small);
  else fill_in(large);
  EXPECT_EQ(out, in);
  copy.extent.depth = 4;
  EXPECT_EQ(hip("hipMemcpy3D", &copy), invalid_value);
  hip("hipFree", pitched.pointer);
}

TEST_P(HipMemory, FillsElementsOfEverySize) {
  auto* p = allocate<unsigned char>(64);
  std::vector<unsigned char> out(64);
  EXPECT_EQ(hip("hipMemsetD8", p, static_cast<unsigned char>(1), std::size_t{64}), 0);
  EXPECT_EQ(hip("hipMemsetD16", p + 2, static_cast<unsigned short>(0x1234), std::size_t{2}), 0);
  EXPECT_EQ(hip("hipMemsetD32Async", p + 8, 0x11223344, std::size_t{3}, static_cast<void*>(nullptr)), 0);
  EXPECT_EQ(hip("hipMemcpy", out.data(), p, std::size_t{64}, device_to_host), 0);
  EXPECT_EQ(out[1], 1);
  EXPECT_EQ(out[2], 0x34);
  EXPECT_EQ(out[5], 0x12);
  EXPECT_EQ(out[6], 1);
  EXPECT_EQ(out[8], 0x44);
  EXPECT_EQ(out[19], 0x11);
  EXPECT_EQ(out[20], 1);
  EXPECT_EQ(hip("hipMemsetD32", p + 2, 0, std::size_t{1}), invalid_value);
  hip("hipFree", p);
}

TEST_P(HipMemory, PointersSayWhatTheyAre) {
  PointerAttributes a{};
  int* device = allocate<int>(10);
  EXPECT_EQ(hip("hipPointerGetAttributes", &a, static_cast<const void*>(device + 2)), 0);
  EXPECT_EQ(a.type, hip.major == 5 ? 1 : 2);
  EXPECT_EQ(a.device_pointer, device + 2);
  EXPECT_EQ(a.host_pointer, nullptr);
  void* host = nullptr;
  EXPECT_EQ(hip("hipHostMalloc", &host, std::size_t{64}, 2U), 0);
  EXPECT_EQ(hip("hipPointerGetAttributes", &a, static_cast<const void*>(host)), 0);
  EXPECT_EQ(a.type, hip.major == 5 ? 0 : 1);
  EXPECT_EQ(a.host_pointer, host);
  EXPECT_EQ(a.allocation_flags, 2U);
  void* managed = nullptr;
  EXPECT_EQ(hip("hipMallocManaged", &managed, std::size_t{64}, 1U), 0);
  EXPECT_EQ(hip("hipPointerGetAttributes", &a, static_cast<const void*>(managed)), 0);
  EXPECT_EQ(a.is_managed, 1);
  EXPECT_EQ(a.type, hip.major == 5 ? 0 : 3);
  const int local = 0;
  EXPECT_EQ(hip("hipPointerGetAttributes", &a, static_cast<const void*>(&local)), hip.major == 5 ? invalid_value : 0);
  void* base = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(hip("hipMemGetAddressRange", &base, &size, static_cast<void*>(device + 9)), 0);
  EXPECT_EQ(base, device);
  EXPECT_EQ(size, 40U);
  hip("hipFree", device);
  EXPECT_EQ(hip("hipHostFree", host), 0);
  hip("hipFree", managed);
}

TEST_P(HipMemory, HostMemoryCanBeRegistered) {
  std::vector<char> memory(1000);
  EXPECT_EQ(hip("hipHostRegister", memory.data(), std::size_t{1000}, 0U), 0);
  EXPECT_EQ(hip("hipHostRegister", memory.data() + 10, std::size_t{10}, 0U), 712);
  void* pointer = nullptr;
  EXPECT_EQ(hip("hipHostGetDevicePointer", &pointer, static_cast<void*>(memory.data() + 5), 0U), 0);
  EXPECT_EQ(pointer, memory.data() + 5);
  EXPECT_EQ(hip("hipHostUnregister", memory.data()), 0);
  EXPECT_EQ(hip("hipHostUnregister", memory.data()), 713);
  EXPECT_EQ(hip("hipHostRegister", static_cast<char*>(nullptr), std::size_t{10}, 0U), invalid_value);
}

TEST_P(HipMemory, PoolsCountWhatIsTakenInAStream) {
  void* pool = nullptr;
  EXPECT_EQ(hip("hipDeviceGetDefaultMemPool", &pool, 0), 0);
  std::uint64_t before = 0, during = 0;
  EXPECT_EQ(hip("hipMemPoolGetAttribute", pool, int{pool_used_current}, static_cast<void*>(&before)), 0);
  void *pointer = nullptr, *stream = nullptr;
  EXPECT_EQ(hip("hipStreamCreate", &stream), 0);
  EXPECT_EQ(hip("hipMallocAsync", &pointer, std::size_t{5000}, stream), 0);
  EXPECT_EQ(hip("hipMemsetAsync", pointer, 3, std::size_t{5000}, stream), 0);
  EXPECT_EQ(hip("hipMemPoolGetAttribute", pool, int{pool_used_current}, static_cast<void*>(&during)), 0);
  EXPECT_EQ(during - before, 5000U);
  EXPECT_EQ(hip("hipFreeAsync", pointer, stream), 0);
  EXPECT_EQ(hip("hipStreamSynchronize", stream), 0);
  EXPECT_EQ(hip("hipMemPoolGetAttribute", pool, int{pool_used_current}, static_cast<void*>(&during)), 0);
  EXPECT_EQ(during, before);
  EXPECT_EQ(hip("hipFreeAsync", pointer, stream), invalid_value);
  EXPECT_EQ(hip("hipStreamDestroy", stream), 0);
}

TEST_P(HipMemory, IsNotSharedBetweenProcesses) {
  char handle[64];
  int* p = allocate<int>(1);
  EXPECT_EQ(hip("hipIpcGetMemHandle", static_cast<void*>(handle), p), 801);
  hip("hipFree", p);
}

INSTANTIATE_TEST_SUITE_P(, HipMemory, testing::Values(5, 6, 7), library_name);
INSTANTIATE_TEST_SUITE_P(, HipDevice, testing::Values(5, 6, 7), library_name);

}  // namespace
}  // namespace rapt::sim::test
