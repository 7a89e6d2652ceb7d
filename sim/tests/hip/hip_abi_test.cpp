// Layouts, numbers, names and versions of the HIP libraries against real headers of ROCm 5.2, 6.2 and 7.1, which
// tests/hip_abi/fetch_headers.sh puts into the folder RAPT_HIP_HEADERS.
#include <gtest/gtest.h>

#include "sim/tests/support/programs/hip_library.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace rapt::sim::test {
namespace {

[[maybe_unused]] const int configured = setenv("RAPT_SIM_ARCH", "gfx942", 1);

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << "cannot read " << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Without underscores and capitals: our names against HIP's.
std::string plain(std::string name) {
  std::erase(name, '_');
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

std::vector<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) found.insert((*it)[1]);
  return {found.begin(), found.end()};
}

class HipAbi : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("RAPT_HIP_HEADERS");
    if (folder == nullptr) GTEST_SKIP() << "RAPT_HIP_HEADERS is not set: see tests/hip_abi/fetch_headers.sh";
    headers_ = std::string(folder) + "/" + std::to_string(GetParam());
    api_ = preprocessed();
    ASSERT_NE(api_.find("hipMalloc"), std::string::npos) << headers_;
  }

  std::string preprocessed() const {
    return shell("printf '#include <hip/hip_runtime_api.h>\\n' | c++ -x c++ -E -P -w -D__HIP_PLATFORM_AMD__ -I" +
                 headers_ + " -");
  }

  std::string headers_, api_;
};

TEST_P(HipAbi, LayoutsAndNumbers) {
  // Our enumerators by their plain names.
  std::map<std::string, std::string> ours;
  const std::string folder = RAPT_SIM_SOURCE_FOLDER;
  for (const auto& name : matches(text_of(folder + "/hip/abi/device.hpp"), R"(\b(attribute_\w+)\b)"))
    ours[plain("hipDevice" + name)] = "ours::" + name;
  const std::string types = text_of(folder + "/hip/abi/types.hpp");
  for (const auto& name : matches(types.substr(types.find("enum class Error")), R"(\b(\w+) = \d+)"))
    ours[plain("hipError_" + name)] = "ours::Error::" + name;
  // Names that differ in C++ or in older releases.
  ours["hiperrorassert"] = "ours::Error::device_assert";
  ours["hiperrormemoryallocation"] = "ours::Error::out_of_memory";
  ours["hiperrorinitializationerror"] = "ours::Error::not_initialized";
  ours["hiperrormapbufferobjectfailed"] = "ours::Error::map_failed";
  ours["hiperrorinvalidresourcehandle"] = "ours::Error::invalid_handle";

  std::string checks;
  std::size_t count = 0;
  for (const auto& name : matches(api_, R"(\b(hipDeviceAttribute[A-Z]\w+|hipError[A-Z]\w+)\b)")) {
    static const std::regex no_value(".*(Begin|End|Unused\\d|ErrorTbd|ErrorName|ErrorString)$");
    if (std::regex_match(name, no_value)) continue;
    ASSERT_TRUE(ours.count(plain(name))) << "there is no " << name << " of ours";
    checks += "SAME(" + ours[plain(name)] + ", " + name + "); ";
    count++;
  }
  EXPECT_GT(count, 170U);

  const std::string stem = temporary_folder() + "/probe" + std::to_string(GetParam());
  std::string probe = text_of(folder + "/tests/hip_abi/probe.cpp");
  probe.replace(probe.rfind("GENERATED_CHECKS"), 16, checks);
  std::ofstream(stem + ".cpp") << probe;
  shell("c++ -std=c++20 -w -D__HIP_PLATFORM_AMD__ -DRELEASE=" + std::to_string(GetParam()) + " -I" + headers_ + " -I" +
        folder + "/.. " + stem + ".cpp -o " + stem + " 2>&1");
  const std::string output = shell(stem + " 2>&1 || true");
  EXPECT_EQ(output.find("ours"), std::string::npos) << output;
  EXPECT_NE(output.find("checked"), std::string::npos) << output;
}

TEST_P(HipAbi, EveryFunctionIsThere) {
  const HipLibrary hip(GetParam());
  // Functions that compilers call, functions for OpenGL, and functions that only headers have.
  const std::set<std::string> others{"hip_init", "hipGraphicsGLRegisterBuffer", "hipGraphicsGLRegisterImage",
                                     "hipGLGetDevices", "hipExternalMemoryGetMappedMipmappedArray"};
  std::size_t count = 0;
  for (const auto& name : matches(api_, R"(\bhipError_t\s+(_*hip\w+)\s*\()")) {
    if (others.count(name) != 0) continue;
    count++;
    // Templates and inline functions of the headers have no symbol in ROCm's library either.
    const std::regex inline_function("(static|inline|template)[^;{}]*hipError_t\\s+" + name + "\\s*\\(");
    const bool there = dlsym(hip.handle(), name.c_str()) != nullptr;
    EXPECT_TRUE(there || std::regex_search(api_, inline_function)) << name;
  }
  EXPECT_GT(count, 350U);
}

TEST_P(HipAbi, ErrorsHaveHipsNames) {
  const HipLibrary hip(GetParam());
  using Text = const char*(int);
  std::size_t count = 0;
  const std::regex regex(R"(\b(hipError[A-Z]\w+)\s*=\s*(\d+))");
  std::map<int, std::string> names;
  for (std::sregex_iterator it(api_.begin(), api_.end(), regex), end; it != end; ++it)
    names.emplace(std::stoi((*it)[2]), (*it)[1]);  // the first of several names is HIP's
  for (const auto& [number, name] : names) {
    EXPECT_STREQ(hip.function<Text>("hipGetErrorName")(number), name.c_str()) << number;
    count++;
  }
  EXPECT_GT(count, 70U);
}

INSTANTIATE_TEST_SUITE_P(Releases, HipAbi, testing::Values(5, 6, 7), library_name);

// As in ROCm's linker script: programs refer to a name with its version.
class HipVersions : public testing::TestWithParam<int> {};

TEST_P(HipVersions, AreRocms) {
  const HipLibrary hip(GetParam());
  const struct {
    const char *name, *version;
  } symbols[] = {{"hipMalloc", "hip_4.2"},
                 {"hipGetDeviceProperties", "hip_4.2"},
                 {"__hipRegisterFatBinary", "hip_4.2"},
                 {"hipGraphLaunch", "hip_4.3"},
                 {"hipStreamWaitValue32", "hip_4.4"},
                 {"hipGraphExecUpdate", "hip_4.5"},
                 {"hipPointerGetAttribute", "hip_5.0"},
                 {"hipMallocAsync", "hip_5.1"},
                 {"hipMemcpy_spt", "hip_5.2"},
                 {"hipLaunchHostFunc", "hip_5.3"},
                 {"hipModuleLaunchCooperativeKernel", "hip_5.5"},
                 {"hipDrvGraphAddMemcpyNode", "hip_5.6"},
                 {"hipGetDevicePropertiesR0600", "hip_6.0"},
                 {"hipGetProcAddress", "hip_6.1"},
                 {"hipGetFuncBySymbol", "hip_6.2"},
                 {"hipEventRecordWithFlags", "hip_6.4"},
                 {"hipLaunchKernelExC", "hip_6.5"},
                 {"hipStreamGetId", "hip_7.1"}};
  for (const auto& [name, version] : symbols) {
    EXPECT_NE(dlvsym(hip.handle(), name, version), nullptr) << name << '@' << version;
    EXPECT_EQ(dlvsym(hip.handle(), name, "hip_9.9"), nullptr) << name;
  }
  EXPECT_EQ(dlvsym(hip.handle(), "hipMalloc", "hip_5.0"), nullptr);
  // None of our own symbols is exported.
  const std::string exported = shell("nm -D --defined-only " RAPT_SIM_LIBRARY_FOLDER "/libamdhip64.so." +
                                     std::to_string(GetParam()) + " | grep -c rapt || true");
  EXPECT_EQ(std::stoi(exported), 0);
}

INSTANTIATE_TEST_SUITE_P(Releases, HipVersions, testing::Values(5, 6, 7), library_name);

}  // namespace
}  // namespace rapt::sim::test
