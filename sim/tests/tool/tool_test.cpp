// The rapt-sim command on a compiled HIP program, and on bad input.
#include "sim/tests/support/programs/command.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace rapt::sim::test {
namespace {

constexpr const char* program = R"(
extern "C" __global__ void first(float* out) {
  out[__builtin_amdgcn_workitem_id_x()] = 1;
}
extern "C" __global__ void rows(const float* in, float* out, int n) {
  const int t = __builtin_amdgcn_workitem_id_x(), b = __builtin_amdgcn_workgroup_id_x();
  float sum = 0;
#pragma clang loop unroll(disable)
  for (int i = t; i < n; i += 256)
#line 500 "<kernel>&.hip"
    sum += __builtin_amdgcn_exp2f(in[b * n + i]);
  out[b * 256 + t] = sum;
}
int main(int argc, char**) {
  const int n = 4096, m = 8;
  float *a, *o, h[256 * m];
  static float zero[n * m];
  hipMalloc((void**)&a, n * m * 4);
  hipMalloc((void**)&o, sizeof h);
  hipMemcpy(a, zero, sizeof zero, 1);
  first<<<1, 64>>>(o);
  rows<<<m, 256>>>(a, o, n);
  rows<<<m, 256>>>(a, o, argc > 1 ? 1 << 30 : n);
  hipMemcpy(h, o, sizeof h, 2);
  std::printf("%g %g\n", h[0], h[256 * m - 1]);
  return argc > 1 ? 3 : 0;
}
)";

constexpr auto run = run_command;

const std::string& compiled() {
  static const std::string path = compile_program(program);
  return path;
}

// The program on the simulator with these variables, without the command.
std::string run_with(const std::string& variables) {
  return shell("LD_LIBRARY_PATH=" + library_folder + " " + variables + " " + compiled());
}

TEST(Tool, ProfilesAProgram) {
  const std::string json = temporary_folder() + "/profile.json", html = temporary_folder() + "/profile.html";
  const Outcome o = run("profile --html " + html + " --json " + json + " -- " + compiled());
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(has(o.out, "4096 256\n") || has(o.out, "16 16\n")) << o.out;
  EXPECT_TRUE(has(o.out, "rows on gfx942 (AMD Instinct MI300X, 304 CUs at 2100 MHz, 5300 GB/s), wave64")) << o.out;
  EXPECT_TRUE(has(o.out, "2 launches, 16 workgroups, 64 waves")) << o.out;
  EXPECT_TRUE(has(o.out, "<kernel>&.hip:500")) << o.out;

  std::ifstream stream(json);
  const auto profile = nlohmann::json::parse(stream);
  ASSERT_EQ(profile["kernels"].size(), 2U);
  EXPECT_EQ(profile["kernels"][0]["name"], "first");
  const auto& k = profile["kernels"][1];
  EXPECT_EQ(k["name"], "rows");
  EXPECT_EQ(k["totals"]["classes"]["transcendental"], 64 * 16);  // waves, trips
  EXPECT_EQ(k["totals"]["memory"]["bytes"], 2 * (8 * 4096 * 4 + 8 * 256 * 4));
  ASSERT_EQ(k["loops"].size(), 1U);
  EXPECT_EQ(k["loops"][0]["entries"], 64);
  EXPECT_EQ(k["loops"][0]["iterations"], 64 * 16);
  EXPECT_EQ(k["launches"].size(), 2U);
  EXPECT_EQ(k["launches"][0]["waves"].size(), 32U);
  EXPECT_EQ(k["launches"][0]["wave_count"], 32);
  // Input and output, once each, and the arguments.
  EXPECT_EQ(k["launches"][0]["footprint_bytes"], 8 * 4096 * 4 + 8 * 256 * 4 + 64);

  const std::string page = shell("cat " + html);
  EXPECT_TRUE(has(page, "<svg") && has(page, "&lt;kernel&gt;&amp;.hip:500") && page.ends_with("</body></html>\n"));
  EXPECT_FALSE(has(page, "<kernel>") || has(page, "http") || has(page, "<script"));
}

// The same numbers, except for the order of the lists, whatever the number of threads.
TEST(Tool, ProfilesAreTheSameOnAnyNumberOfThreads) {
  std::string before;
  for (const char* threads : {"1", "2", "7"}) {
    const std::string file = temporary_folder() + "/threads.json";
    run_with(std::string("RAPT_SIM_THREADS=") + threads + " RAPT_SIM_PROFILE=" + file);
    const std::string text = shell("cat " + file);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text, before.empty() ? text : before) << threads;
    before = text;
  }
}

TEST(Tool, ProfilesOnlyTheKernelAndTheDevicesAskedFor) {
  const Outcome o = run("profile --arch gfx1100 --kernel rows -- " + compiled());
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(has(o.out, "rows on gfx1100") && has(o.out, "wave32")) << o.out;
  EXPECT_FALSE(has(o.out, "first on")) << o.out;
  const Outcome none = run("profile --kernel cows -- " + compiled());
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err, "rapt-sim: --kernel: 'cows' was not launched; these were: first, rows\n");
}

// An access outside its allocation: the launches up to the failed one are shown.
TEST(Tool, ProfilesAProgramThatFails) {
  const Outcome o = run("profile -- " + compiled() + " bad");
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(has(o.err, "the program ended with exit code 3")) << o.err;
  EXPECT_TRUE(has(o.out, "failed: load of 4 bytes")) << o.out;
}

TEST(Tool, TracesOneWave) {
  const Outcome o = run("trace --kernel first --lanes 2 -- " + compiled());
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(has(o.out, "first on gfx942: 1x1x1 workgroups of 64x1x1; workgroup 0, wave 0\n")) << o.out;
  EXPECT_TRUE(has(o.out, "       0  +0x00000  s_load_dwordx2 ")) << o.out;
  EXPECT_TRUE(has(o.out, "writes v1=0x3f800000\n") || has(o.out, "=0x3f800000\n")) << o.out;
  EXPECT_TRUE(has(o.out, "={0x0 0x4 ...}")) << o.out;  // the lanes' offsets
  EXPECT_TRUE(has(o.out, "s_endpgm\n")) << o.out;
  EXPECT_FALSE(has(o.out, "rows on")) << o.out;

  const Outcome part = run("trace --kernel rows --wave 3,1 --from 5 --count 2 -- " + compiled());
  EXPECT_EQ(part.code, 0);
  EXPECT_TRUE(has(part.out, "workgroup 3, wave 1\n       5  ") && has(part.out, "\n       6  ")) << part.out;
  EXPECT_FALSE(has(part.out, "\n       4  ") || has(part.out, "\n       7  ")) << part.out;
}

TEST(Tool, DisassemblesProgramsBundlesAndCodeObjects) {
  const Outcome o = run("disasm --arch gfx1100 --kernel first " + compiled());
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(o.out.starts_with("\ngfx1100: first, wave32\n")) << o.out;
  EXPECT_TRUE(has(o.out, "global_store_b32 ") && has(o.out, "s_endpgm")) << o.out;
  EXPECT_FALSE(has(o.out, "rows") || has(o.out, "gfx942")) << o.out;
  const Outcome both = run("disasm " + compiled());
  EXPECT_TRUE(has(both.out, "gfx942: rows, wave64") && has(both.out, "gfx1100: rows, wave32")) << both.out;

  const std::string file = temporary_folder() + "/code";
  const auto write = [&](const std::vector<std::byte>& bytes) {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  const std::string source = "extern \"C\" __attribute__((global)) void k(int* p) { *p = 5; }";
  write(compile_for("gfx1201", source, "-O2"));
  EXPECT_TRUE(has(run("disasm " + file).out, "gfx1201: k, wave32"));
  const auto bundle = compile_bundle({"gfx908", "gfx950"}, source, "-O2");
  for (const bool compressed : {false, true}) {
    write(compressed ? compress_bundle(bundle, 2, true) : bundle);
    EXPECT_TRUE(has(run("disasm --arch gfx950 " + file).out, "gfx950: k, wave64"));
    const Outcome wrong = run("disasm --arch gfx1100 " + file);
    EXPECT_EQ(wrong.code, 2);
    EXPECT_EQ(wrong.err, "rapt-sim: '" + file + "' has no code for gfx1100\n");
  }
  std::ofstream(file, std::ios::binary).write("\x00\x00\x80\xbf\xff\xff\xff\xff", 8);
  EXPECT_EQ(run("disasm --raw --arch gfx942 " + file).out,
            "  00000000  s_nop 0                                                      // bf800000\n"
            "  00000004  .long 0xffffffff                                             // ffffffff\n");
}

// Its instructions are llvm-objdump's.
TEST(Tool, DisassemblesAsLlvmDoes) {
  const std::string file = temporary_folder() + "/object";
  const auto object = compile_for("gfx942",
                                  "extern \"C\" __attribute__((global)) void k(float* p, int n) { for (int i = 0; "
                                  "i < n; ++i) p[i] = p[i] * p[i + n] + 1; }",
                                  "-O3");
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(object.data()), static_cast<std::streamsize>(object.size()));
  const auto lines = [](const std::string& text, const std::string& mark, std::size_t column) {
    std::vector<std::string> list;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      const auto end = line.find(mark);
      if (end == line.npos || end <= column) continue;
      std::string instruction = line.substr(column, end - column);
      while (instruction.ends_with(' ')) instruction.pop_back();
      list.push_back(instruction);
      if (instruction == "s_endpgm") break;
    }
    return list;
  };
  const auto ours = lines(run("disasm " + file).out, "//", 12);
  const auto theirs = lines(shell("llvm-objdump-22 -d --mcpu=gfx942 " + file), "//", 1);
  EXPECT_GT(ours.size(), 20U);
  EXPECT_EQ(ours, theirs);
}

TEST(Tool, SaysWhatIsWrong) {
  const std::string names =
      "gfx908, gfx90a, gfx942, gfx950, gfx1100, gfx1151, gfx1201, gfx906, gfx1101, gfx1102, gfx1103, gfx1150, "
      "gfx1152, gfx1153, gfx1200, gfx908:mi100, gfx90a:mi250x, gfx942:mi300x, gfx942:mi308x, gfx942:mi300a, "
      "gfx950:mi355x, "
      "gfx1100:rx7900xtx, gfx1151:radeon8060s, gfx1201:rx9070xt, gfx906:mi50, gfx1101:rx7800xt, "
      "gfx1102:rx7600, gfx1103:radeon780m, gfx1150:radeon890m, gfx1152:radeon860m, gfx1153:radeon820m, "
      "gfx1200:rx9060xt";
  const std::pair<std::string, std::string> cases[] = {
      {"profile --arch gfx9 -- true", "rapt-sim: --arch: no device is called 'gfx9'; there are " + names + "\n"},
      {"profile --arch gfx950:mi300x -- true",
       "rapt-sim: --arch: no device is called 'gfx950:mi300x'; there are " + names + "\n"},
      {"profile --arch gfx942, -- true", "rapt-sim: --arch: no device is called ''; there are " + names + "\n"},
      {"profile -- ./no/such/program", "rapt-sim: cannot run './no/such/program': No such file or directory\n"},
      {"trace --wave 1 -- true", "rapt-sim: --wave: '1' does not name a wave as WORKGROUP,WAVE\n"},
      {"trace --wave 1,x -- true", "rapt-sim: --wave: the wave: 'x' is not a number from 0 on\n"},
      {"disasm /no/such/file", "rapt-sim: cannot read '/no/such/file': No such file or directory\n"},
      {"disasm /", "rapt-sim: cannot read '/': it is a folder\n"},
      {"disasm /dev/null", "rapt-sim: cannot read '/dev/null': it is empty\n"},
      {"disasm /etc/passwd", "rapt-sim: '/etc/passwd': neither an ELF file nor an offload bundle\n"},
      {"disasm --raw /etc/passwd", "rapt-sim: --raw: instruction words need --arch\n"},
      {"disasm --arch gfx942,gfx908 /etc/passwd", "rapt-sim: --arch: 'gfx942,gfx908' is not one architecture\n"},
      {"opcodes --tests /no/such", "rapt-sim: --tests: cannot read '/no/such': No such file or directory\n"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, 2) << arguments;
    EXPECT_EQ(o.err, message) << arguments;
    EXPECT_EQ(o.out, "") << arguments;
  }
  for (const char* arguments :
       {"", "what", "profile", "trace --lanes 65 -- true", "trace --count x -- true", "disasm"}) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, 2) << arguments;
    EXPECT_NE(o.err, "") << arguments;
  }
  const Outcome nothing = run("profile -- true");
  EXPECT_EQ(nothing.code, 1);
  EXPECT_TRUE(has(nothing.err, "no kernel was launched")) << nothing.err;
  const Outcome no_place = run("profile --html /no/such/page.html -- " + compiled());
  EXPECT_EQ(no_place.code, 2);
  EXPECT_TRUE(
      has(no_place.err, "/no/such/page.html: cannot create a temporary file next to it: No such file or directory"))
      << no_place.err;
}

TEST(Tool, ValidatesTimes) {
  const std::string file = temporary_folder() + "/times.csv", json = temporary_folder() + "/validate.json";
  const std::string shape = "M=4096 N=4096 K=4096 splitK=1 bias=False out=bfloat16 pre=False";
  std::ofstream(file) << "arch,cus,kind,kernel,shape,us,code_object\n"
                      << "gfx950,256,gemm,_ZN5aiter24bf16gemm_bf16_tn_256x256E," << shape << ",113.3,a.co\n"
                      << "gfx950,256,gemm,unknown,M=1,20,b.co\n";
  const std::string command = "validate --times " + file + " --objects " + temporary_folder();
  const Outcome o = run(command + " --json " + json);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(has(o.out, "bf16gemm_bf16_tn_256x256")) << o.out;
  EXPECT_TRUE(has(o.out, "line 3: no family has the kernel 'unknown'")) << o.out;
  const auto written = nlohmann::json::parse(shell("cat " + json));
  ASSERT_EQ(written["rows"].size(), 2U);
  EXPECT_TRUE(written["rows"][0]["forecast_us"].is_null());
  EXPECT_NEAR(written["rows"][0]["roofline_us"].get<double>(), 113.3, 1e-6) << "one row decides its part's factor";
  EXPECT_TRUE(written["rows"][1]["roofline_us"].is_null());
  EXPECT_EQ(run(command + " --jobs 2").out.size(), o.out.size());
  EXPECT_TRUE(has(run(command + " --jobs 0").err, "--jobs: Value 0 not in range"));
  const Outcome check = run(command + " --check --rows bf16gemm");
  EXPECT_EQ(check.code, 1) << "there is no code object";
  EXPECT_TRUE(has(check.out, "FAILED") && has(check.out, "1 problems, 1 of them wrong")) << check.out;
  EXPECT_TRUE(has(run(command + " --rows none").err, "--rows: no row matches 'none'"));
  EXPECT_TRUE(has(run(command + " --rows '('").err, "--rows: '(' is not a regular expression"));
  EXPECT_EQ(run("validate --times /none.csv --objects .").err, "rapt-sim: cannot read '/none.csv'\n");
  EXPECT_EQ(
      run(command + " --set clock=1").err.find("rapt-sim: --set: 'clock' is not a fitted number, must be one of "), 0U);
  EXPECT_EQ(run("validate --times " + file + " --objects /none").err, "rapt-sim: --objects: '/none' is not a folder\n");
}

TEST(Tool, HelpsAndTellsItsVersion) {
  EXPECT_EQ(run("--version").code, 0);
  EXPECT_TRUE(run("--version").out.starts_with("rapt-sim "));
  for (const char* command : {"profile", "time", "trace", "disasm", "opcodes", "validate"})
    EXPECT_TRUE(has(run(std::string(command) + " --help").out, "Example")) << command;
}

// The variables by themselves: a wrong one is reported, and the program runs on.
TEST(Tool, VariablesThatCannotBeUnderstood) {
  const std::string file = temporary_folder() + "/t";
  EXPECT_TRUE(has(run_with("RAPT_SIM_TRACE=" + file + " RAPT_SIM_TRACE_WAVE=7"),
                  "rapt-sim: RAPT_SIM_TRACE: '7' does not name a wave as WORKGROUP,WAVE; nothing is traced\n"));
  EXPECT_TRUE(has(run_with("RAPT_SIM_TRACE=/no/such/file"), "cannot write the trace to /no/such/file"));
  EXPECT_TRUE(
      has(run_with("RAPT_SIM_PROFILE=/no/such/file"), "/no/such/file: cannot create a temporary file next to it"));
}

}  // namespace
}  // namespace rapt::sim::test
