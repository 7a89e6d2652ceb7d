// The tuner's decisions on made-up times, and its table.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <thread>

#include "cli/tune/forms.hpp"
#include "cli/tune/race.hpp"
#include "cli/tune/table.hpp"

namespace rapt::cli {
namespace {

// A GPU whose clock is a number. A call of entrant i takes seconds[i], with noise, drift and calls that are
// interrupted.
class MadeUpGpu {
 public:
  MadeUpGpu(std::vector<double> seconds, uint64_t seed) : seconds_(std::move(seconds)), random_(seed) {}

  double noise = 0.03, drift_a_minute = 0.01, interrupted = 0;
  double sampling = 1e-3;  // seconds of a sample beside its calls

  double sample(size_t i) {
    double s = seconds_[i] * (1 + noise * normal_(random_)) * (1 + drift_a_minute * now_ / 60);
    if (uniform_(random_) < interrupted) s *= 2;
    now_ += sampling + s;
    return s;
  }
  RaceResult race(double seconds) {
    return cli::race(
        seconds_.size(), {.seconds = seconds, .seed = random_()}, [&](size_t i) { return sample(i); },
        [&] { return now_; });
  }
  double now() const { return now_; }

 private:
  std::vector<double> seconds_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  double now_ = 0;
};

TEST(MedianInterval, IsTheBootstraps) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> values(0, 0.3);
  std::vector<double> sample(41);
  for (double& v : sample) v = values(random);
  std::vector<double> medians;
  std::uniform_int_distribution<size_t> draw(0, sample.size() - 1);
  for (int i = 0; i < 20000; ++i) {
    std::vector<double> again;
    for (size_t j = 0; j < sample.size(); ++j) again.push_back(sample[draw(random)]);
    medians.push_back(median(again));
  }
  std::sort(medians.begin(), medians.end());
  const Interval exact = median_interval(sample, 0.95);
  EXPECT_EQ(exact.low, medians[500]);
  EXPECT_EQ(exact.high, medians[19500]);
}

TEST(MedianInterval, HoldsTheMedianAsOftenAsItSays) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> values(1, 0.03);
  int held = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> sample(60);
    for (double& v : sample) v = values(random);
    const Interval interval = median_interval(sample, 0.95);
    held += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_GE(held, 1840);  // 92 %: a bootstrap interval is a little narrow
  EXPECT_LE(held, 1970);
}

TEST(Race, TheSameKernelTwiceWritesNoRow) {
  int rows = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) rows += MadeUpGpu({1e-3, 1e-3}, seed).race(30).winner != 0;
  EXPECT_LE(rows, 5);
}

TEST(Race, FindsAWinnerOfFivePercentAmongEight) {
  int found = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<double> seconds(8, 1e-3);
    const size_t planted = 1 + seed % 7;
    seconds[planted] = 1e-3 / 1.05;
    MadeUpGpu gpu(seconds, seed);
    gpu.interrupted = 0.05;
    found += gpu.race(30).winner == planted;
    EXPECT_LE(gpu.now(), 30.01);
  }
  EXPECT_GE(found, 95);
}

TEST(Race, TheIntervalHoldsTheTrueGain) {
  int held = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const RaceResult result = MadeUpGpu({1e-3, 0.9e-3}, seed).race(30);
    ASSERT_EQ(result.winner, 1u);
    const Interval gain = result.entrants[1].gain;
    held += gain.low <= 1 / 0.9 && 1 / 0.9 <= gain.high;
  }
  EXPECT_GE(held, 88);
}

TEST(Race, TheHopelessLeaveAtOnceAndTheSlowEarly) {
  MadeUpGpu gpu({1e-3, 0.1, 1.6e-3, 1.2e-3, 0.95e-3}, 3);
  const RaceResult result = gpu.race(30);
  EXPECT_EQ(result.winner, 4u);
  EXPECT_NE(result.entrants[1].left.find("times the default's time in its first call"), std::string::npos);
  EXPECT_EQ(result.entrants[1].seconds.size(), 0u);
  EXPECT_LE(result.entrants[2].seconds.size(), 8u);
  EXPECT_LE(result.entrants[3].seconds.size(), 16u);
  EXPECT_LE(gpu.now(), 30);
}

TEST(Race, WhoCannotRunIsNamedAndTheRestGoesOn) {
  MadeUpGpu gpu({1e-3, 1e-3, 0.9e-3}, 4);
  int calls = 0;
  const RaceResult result = race(
      3, {.seconds = 30},
      [&](size_t i) {
        if (i == 1 && ++calls > 5) throw std::runtime_error("launch failed");
        return gpu.sample(i);
      },
      [&] { return gpu.now(); });
  EXPECT_EQ(result.entrants[1].left, "launch failed");
  EXPECT_EQ(result.winner, 2u);
  EXPECT_THROW(race(
                   2, {.seconds = 30}, [](size_t) -> double { throw std::runtime_error("no GPU"); }, [] { return 0.; }),
               std::runtime_error);
}

TEST(Race, TooFewRoundsAreNoVerdict) {
  const RaceResult result = MadeUpGpu({1, 0.5}, 5).race(8);
  EXPECT_EQ(result.winner, 0u);
  EXPECT_FALSE(result.decided);
  EXPECT_EQ(result.ended, "the time limit");
  EXPECT_TRUE(MadeUpGpu({1e-3, 0.1}, 5).race(8).decided);  // the other kernel is hopeless, as one call shows
}

TEST(Race, TheFirstCallsKeepTheTimeLimitToo) {
  MadeUpGpu gpu({1e-3, 5, 5, 5, 5}, 6);
  const RaceResult result = gpu.race(1);
  EXPECT_LE(gpu.now(), 12);  // two calls of the first slow kernel
  EXPECT_FALSE(result.decided);
}

TEST(Race, ForecastsNeedOneCall) {
  const RaceResult result =
      race(3, {.seconds = 1, .exact = true}, [](size_t i) { return i == 2 ? 0.9 : 1.; }, [] { return 0.; });
  EXPECT_EQ(result.winner, 2u);
  EXPECT_EQ(result.rounds, 1);
}

TEST(Forms, OfWhatProgramsRunTensorsCanBeMade) {
  const auto made = [](const std::string& options) {
    return made_form(Problem::parse("b3 hq4 hk2 sq40 sk50 d64 bf16 " + options)).text();
  };
  const std::string sizes = "b3 hq4 hk2 sq40 sk50 d64 bf16";
  EXPECT_EQ(made("causal"), sizes + " causal");
  EXPECT_EQ(made("align=2 stride=999"), sizes);
  EXPECT_EQ(made("device-lengths=70:91"), sizes + " varlen=40:50,15:20,15:21");
  EXPECT_EQ(made("device-lengths=40:50"), sizes + " varlen=40:50,0:0,0:0");
  EXPECT_EQ(made("device-lengths=900:900"), sizes + " varlen=40:50,40:50,40:50");
  EXPECT_EQ(made("cache append=1 leftpad batch-idx"), sizes + " paged=256");
  EXPECT_EQ(made("paged=64 whole-cache device-lengths=9:90"), sizes + " paged=64");
}

TEST(Forms, SmallOnesAreFewAndShort) {
  const auto small = [](const std::string& problem) { return small_form(Problem::parse(problem)).text(); };
  EXPECT_EQ(small("b9 hq32 hk8 sq4100 sk9000 d64 bf16"), "b2 hq4 hk1 sq516 sk552 d64 bf16");
  EXPECT_EQ(small("b3 hq2 hk2 sq5000 sk6000 d64 bf16 varlen=1:9,5000:6000,7:8"),
            "b2 hq2 hk2 sq648 sk624 d64 bf16 varlen=1:9,648:624");
  EXPECT_EQ(small("b64 hq32 hk8 sq1 sk9000 d64 bf16 paged=64"), "b2 hq4 hk1 sq1 sk9000 d64 bf16 paged=64");
}

TuneRow row(double seqlen_k, double unit_rows, const std::string& use = "forward.d64.bf16.plain.k32w4:0123abcd") {
  TuneRow r;
  r.stage = "forward";
  r.dtype = "bf16";
  r.mask = "causal";
  r.features = "plain";
  r.head_dim_least = 33;
  r.head_dim_most = 64;
  r.rows = cell_of(1024);
  r.seqlen_k = cell_of(seqlen_k);
  r.unit_rows = cell_of(unit_rows);
  r.use = use;
  r.by = "measured";
  r.gain = {1.034, 1.071};
  r.rounds = 48;
  r.against = "forward.d64.bf16.plain.k64w8:89abcdef";
  r.among = "3:00112233";
  return r;
}

std::string text_of(const std::vector<TuneRow>& rows) {
  TuneTable table;
  for (const TuneRow& r : rows) table.put({r});
  return table.text();
}

int64_t lines_with(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(TuneTable, CellsAreAroundPowersOfTwo) {
  EXPECT_EQ(cell_of(0.1).first, 0);
  EXPECT_EQ(cell_of(1).least(), 0);
  EXPECT_EQ(cell_of(512).least(), 384);
  EXPECT_EQ(cell_of(512).below(), 768);
  EXPECT_EQ(cell_of(767.9).first, cell_of(384).first);
  EXPECT_EQ(cell_of(768).first, cell_of(384).first + 1);
}

TEST(TuneTable, ARowIsReadAsItWasWritten) {
  const TuneRow r = row(512, 0.5);
  EXPECT_EQ(
      r.text(),
      "forward dtype=bf16 head_dim=33..64 mask=causal features=plain rows>=768 rows<1536 seqlen_k>=384 seqlen_k<768 "
      "unit_rows<1.5 use=forward.d64.bf16.plain.k32w4:0123abcd by=measured gain=1.034..1.071 n=48 "
      "against=forward.d64.bf16.plain.k64w8:89abcdef among=3:00112233");
  for (const TuneRow& each : {r, row(4096, 700, "")}) {
    const auto again = TuneRow::parse(each.text());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->text(), each.text());
  }
  EXPECT_FALSE(TuneRow::parse("forward dtype=bf16 rows>=17 use=largest by=model"));
}

int64_t rows_in(const std::string& text) { return lines_with(text, "\nforward "); }

TEST(TuneTable, CellsWithOneAnswerAreOneRow) {
  const std::string text = text_of({row(512, 100), row(1024, 100), row(2048, 100)});
  EXPECT_EQ(rows_in(text), 1);
  EXPECT_EQ(lines_with(text, "# tried "), 3);
  // Beyond the tried cells, and for lengths between.
  EXPECT_EQ(lines_with(text, "features=plain rows>=768 use="), 1) << text;
  // Between two cells of a diagonal, no tried cell has another answer.
  EXPECT_EQ(rows_in(text_of({row(512, 100), row(1024, 200), row(4096, 800)})), 1);
  EXPECT_EQ(rows_in(text_of({row(512, 100), row(512, 200, "another"), row(512, 400)})), 3);
  EXPECT_EQ(rows_in(text_of({row(512, 100), row(1024, 100, ""), row(2048, 100)})), 2);  // the default is faster there
}

TEST(TuneTable, RowsEndWhereAnotherAnswerBegins) {
  const std::string text = text_of({row(512, 100), row(1024, 100), row(2048, 100, "another"), row(4096, 100, "")});
  EXPECT_EQ(
      lines_with(text,
                 "\nforward dtype=bf16 head_dim=33..64 mask=causal features=plain rows>=768 seqlen_k<1536 use=forward"),
      1)
      << text;
  EXPECT_EQ(lines_with(text,
                       "\nforward dtype=bf16 head_dim=33..64 mask=causal features=plain rows>=768 seqlen_k>=1536 "
                       "seqlen_k<3072 use=another"),
            1)
      << text;
}

TEST(TuneTable, SplitKernelsDoNotGetMoreRowsThanWereTried) {
  TuneRow r = row(512, 100, "split.d64.bf16.plain.k32w4:0123abcd");
  r.stage = "split";
  EXPECT_EQ(lines_with(text_of({r}), "features=plain rows>=768 rows<1536 use=split"), 1);
  r.use = "forward";
  EXPECT_EQ(lines_with(text_of({r}), "features=plain rows>=768 use=forward"), 1);
}

TEST(TuneTable, ANewAnswerCutsTheOldRow) {
  TuneTable table = TuneTable::parse(text_of({row(512, 100), row(1024, 100), row(2048, 100)}));
  EXPECT_EQ(table.size(), 3u);
  table.put({row(1024, 100, "")});
  const std::string text = table.text();
  EXPECT_EQ(rows_in(text), 2);
  EXPECT_EQ(TuneTable::parse(text).text(), text);
}

TEST(TuneTable, WhatPeopleWroteStaysAndComesFirst) {
  const std::string mine = "# mine\nforward rows<17 use=smallest by=me\n";
  TuneTable table = TuneTable::parse(mine);
  table.put({row(512, 100)});
  table.note("a GPU", ", 2026-11-25");
  table.note("a GPU", ", 2026-11-26");
  const std::string text = table.text();
  EXPECT_TRUE(text.starts_with(mine));
  EXPECT_EQ(lines_with(text, "# tuned on a GPU"), 1);
  EXPECT_EQ(TuneTable::parse(text).text(), text);
  std::string dos;  // with another system's line ends
  for (const char c : text) dos += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(TuneTable::parse(dos).text(), text);
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct TuneTableFile : testing::Test {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("rapt-tune-test-" + std::to_string(getpid()));
  std::string path = folder / "gfx942";
  void SetUp() override { std::filesystem::create_directory(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  // A process that adds a row for each length at this load.
  pid_t writer(double unit_rows, int first, int last) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    for (int k = first; k < last; ++k)
      update_table(path, [&](TuneTable& table) { table.put({row(std::ldexp(1, k), unit_rows, std::to_string(k))}); });
    _exit(0);
  }
};

TEST_F(TuneTableFile, TwoWritersLoseNothing) {
  const pid_t a = writer(10, 0, 20), b = writer(1000, 0, 20);
  int status = 0;
  for (const pid_t pid : {a, b}) {
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_EQ(status, 0);
  }
  EXPECT_EQ(TuneTable::read(path).size(), 40u);
}

TEST_F(TuneTableFile, AKilledWriterLeavesTheOldTableOrTheNewOne) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 60; ++i) {
    const pid_t pid = writer(10, 0, 30);
    std::this_thread::sleep_for(std::chrono::microseconds(200 + random() % 15000));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    const std::string text = content(path);
    const TuneTable table = TuneTable::parse(text);
    if (text.empty()) continue;  // killed before its first row
    ASSERT_EQ(table.text(), text);
    // Rows were written in this order, so none is missing in between.
    for (int k = 0; k < static_cast<int>(table.size()) && i == 0; ++k)
      ASSERT_TRUE(table.find(row(std::ldexp(1, k), 10, "x"))) << k;
  }
}

}  // namespace
}  // namespace rapt::cli
