// The binary interface: rapt_tensor is DLPack's DLTensor, C and C++ agree, callers of other ages are read by their
// struct_size.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "api/program_01.h"
#include "support/run.hpp"

extern "C" const size_t rapt_c_sizes[];
extern "C" int rapt_c_call(void);

namespace test {

namespace {

// DLPack 1.0's structs, written down here because Debian's header is older than its bool type.
struct DLDevice {
  int32_t device_type;  // an enum of int32_t
  int32_t device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

#define SAME_PLACE(field)                                                   \
  static_assert(offsetof(rapt_tensor, field) == offsetof(DLTensor, field)); \
  static_assert(sizeof(rapt_tensor::field) == sizeof(DLTensor::field))
SAME_PLACE(data);
SAME_PLACE(device);
SAME_PLACE(ndim);
SAME_PLACE(dtype);
SAME_PLACE(shape);
SAME_PLACE(strides);
SAME_PLACE(byte_offset);
static_assert(sizeof(rapt_tensor) == sizeof(DLTensor) && alignof(rapt_tensor) == alignof(DLTensor));
static_assert(offsetof(rapt_device, id) == offsetof(DLDevice, device_id));
static_assert(offsetof(rapt_dtype, bits) == offsetof(DLDataType, bits));
static_assert(offsetof(rapt_dtype, lanes) == offsetof(DLDataType, lanes));
// kDLCPU, kDLCUDA, kDLROCM; kDLInt, kDLUInt, kDLFloat, kDLBfloat, kDLBool
static_assert(RAPT_CPU == 1 && RAPT_CUDA == 2 && RAPT_ROCM == 10);
static_assert(RAPT_INT == 0 && RAPT_UINT == 1 && RAPT_FLOAT == 2 && RAPT_BFLOAT == 4 && RAPT_BOOL == 6);

// Every versioned struct begins with its size.
static_assert(offsetof(rapt_attention, struct_size) == 0 && offsetof(rapt_forward_call, struct_size) == 0);
static_assert(offsetof(rapt_backward_call, struct_size) == 0 && offsetof(rapt_execution, struct_size) == 0);

TEST(Abi, CAndCppAgreeOnSizes) {
  const size_t sizes[] = {sizeof(rapt_tensor),        sizeof(rapt_window),    sizeof(rapt_dropout),
                          sizeof(rapt_varlen),        sizeof(rapt_kv_cache),  sizeof(rapt_attention),
                          sizeof(rapt_executor),      sizeof(rapt_execution), sizeof(rapt_forward_call),
                          sizeof(rapt_backward_call), sizeof(rapt_problem),   sizeof(rapt_candidate)};
  for (size_t i = 0; i < std::size(sizes); ++i) EXPECT_EQ(rapt_c_sizes[i], sizes[i]) << i;
}

TEST(Abi, ACProgramCalls) { EXPECT_EQ(rapt_c_call(), 0) << rapt_last_error(); }

TEST(Abi, Version) {
  EXPECT_EQ(rapt_version(), RAPT_VERSION_MAJOR * 10000 + RAPT_VERSION_MINOR * 100 + RAPT_VERSION_PATCH);
  EXPECT_EQ(std::string(rapt_version_string()), std::to_string(RAPT_VERSION_MAJOR) + "." +
                                                    std::to_string(RAPT_VERSION_MINOR) + "." +
                                                    std::to_string(RAPT_VERSION_PATCH));
}

// A program that was compiled with the rapt.h of 0.1 gets the results of one that is compiled with today's.
TEST(Abi, AProgramOf01Computes) {
  const Inputs in =
      make_inputs(Problem("b1 hq2 hk1 sq3 sk5 d8 fp32 causal window=2,0 bias=b1hN softcap=20 sink drop=0.25"));
  const Results expected = run(in, {.backend = "cpu"});
  Results results = make_results(in, Layout::compact, true);
  const tensors_01 tensors = {in.q.first(),         in.k.first(),      in.v.first(),       in.bias.first(),
                              in.sink.first(),      in.dout.first(),   results.out.data(), results.lse.data(),
                              results.dq.data(),    results.dk.data(), results.dv.data(),  results.dbias.data(),
                              results.dsink.data(), in.dropout_seed,   in.dropout_offset};
  ASSERT_EQ(attend_as_01(&tensors), RAPT_OK) << rapt_last_error();
  for (size_t i = 0; i < expected.named().size(); ++i) {
    const auto [name, tensor] = expected.named()[i];
    EXPECT_TRUE(same_elements(*results.named()[i].second, *tensor)) << name;
  }
}

class Ages : public testing::Test {
 protected:
  Ages() : inputs_(make_inputs(Problem("b1 hq2 hk1 sq3 sk5 d8 fp32"))), expected_(run(inputs_, How{})) {}

  rapt_status call(const rapt_attention* attention) {
    results_ = make_results(inputs_, Layout::compact, false);
    Attention holder(inputs_);
    auto execution = init<rapt_execution>();
    execution.backend = "math";
    auto call = init<rapt_forward_call>();
    call.attention = attention;
    call.out = holder.hold(results_.out);
    call.execution = &execution;
    return rapt_forward(&call);
  }

  Inputs inputs_;
  Results expected_, results_;
};

// A caller compiled when the struct ended after `causal`: the bytes after it are not part of its struct.
TEST_F(Ages, AnOlderCallersStructIsReadUpToItsSize) {
  Attention attention(inputs_);
  rapt_attention older;
  std::memset(&older, 0xEE, sizeof older);
  constexpr size_t kOlder = offsetof(rapt_attention, softcap);
  std::memcpy(&older, &attention.c, kOlder);
  older.struct_size = kOlder;
  ASSERT_EQ(call(&older), RAPT_OK) << rapt_last_error();
  EXPECT_TRUE(same_elements(results_.out, expected_.out));
}

TEST_F(Ages, ANewerCallersStructIsReadWhereItsNewFieldsAreZero) {
  struct Newer {
    rapt_attention known;
    void* feature;
  };
  Attention attention(inputs_);
  Newer newer = {attention.c, nullptr};
  newer.known.struct_size = sizeof newer;
  ASSERT_EQ(call(&newer.known), RAPT_OK) << rapt_last_error();
  EXPECT_TRUE(same_elements(results_.out, expected_.out));
  newer.feature = &newer;
  EXPECT_EQ(call(&newer.known), RAPT_UNSUPPORTED);
  EXPECT_NE(std::string(rapt_last_error()).find("newer"), std::string::npos) << rapt_last_error();
}

}  // namespace

}  // namespace test
