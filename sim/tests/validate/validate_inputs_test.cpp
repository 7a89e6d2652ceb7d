// Tables of measured times: what is read, and what is refused by its name and line.
#include "sim/validate/input/csv.hpp"
#include "sim/validate/input/measurements.hpp"
#include "sim/validate/input/shape.hpp"
#include "sim/tests/support/programs/assemble.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace rapt::sim::validate {
namespace {

using Fields = std::vector<std::string>;

// The message of the InputError that the function throws.
std::string message(const std::function<void()>& function) {
  try {
    function();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string csv_message(const std::string& text) {
  return message([&] { CsvTable(text, "t.csv"); });
}

TEST(Csv, ReadsQuotedFieldsAndLineEndings) {
  const CsvTable table("a,\"b\"\r\n1,\"x, \"\"y\"\"\nz\"\r\n\r\n,\"\"", "t.csv");
  EXPECT_EQ(table.column("b"), 1U);
  ASSERT_EQ(table.records().size(), 2U);
  EXPECT_EQ(table.records()[0].fields, (Fields{"1", "x, \"y\"\nz"}));
  EXPECT_EQ(table.records()[0].line, 2U);
  EXPECT_EQ(table.records()[1].fields, (Fields{"", ""}));
  EXPECT_EQ(table.records()[1].line, 5U);
}

TEST(Csv, RefusesWhatIsNoTable) {
  EXPECT_EQ(csv_message(""), "'t.csv', line 1: there is no header");
  EXPECT_EQ(csv_message("a,b,a\n"), "'t.csv', line 1: two columns are called 'a'");
  EXPECT_EQ(csv_message("a,b\n1,2\n3\n"), "'t.csv', line 3: 1 fields, but the header has 2 columns");
  EXPECT_EQ(csv_message("a,b\n\"1,2\n"), "'t.csv', line 2: a quoted field does not end");
  EXPECT_EQ(csv_message("a,b\n\"1\"x,2\n"), "'t.csv', line 2: text behind a quoted field");
  EXPECT_EQ(csv_message("a,b\n1\"2,3\n"), "'t.csv', line 2: a quotation mark inside an unquoted field");
  EXPECT_EQ(message([] { (void)CsvTable("a\n1", "t.csv").column("us"); }), "'t.csv', line 1: no column is called 'us'");
}

class Times : public testing::Test {
 protected:
  const std::string path_ = test::temporary_folder() + "/times.csv";
  std::vector<Measurement> read(const std::string& text) const {
    std::ofstream(path_) << text;
    return read_measurements(path_);
  }
  std::string message_of(const std::string& text) const {
    return message([&] { read(text); });
  }
};

TEST_F(Times, ColumnsComeInAnyOrder) {
  const auto rows = read("us,kind,shape,kernel,code_object,cus,arch,note\n2.5,gemm,M=1 N=2,k,a/b.co,80,gfx942,x\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].part(), "gfx942/80");
  EXPECT_EQ(rows[0].microseconds, 2.5);
  EXPECT_EQ(rows[0].kernel, "k");
  EXPECT_EQ(rows[0].shape, "M=1 N=2");
  EXPECT_EQ(rows[0].code_object, "a/b.co");
}

TEST_F(Times, RefusesBadRowsByLine) {
  const std::string header = "arch,cus,kind,kernel,shape,us,code_object\n", good = "gfx942,80,gemm,k,M=1,2,a.co\n";
  EXPECT_EQ(message_of(header), "'" + path_ + "' has a header and no rows");
  EXPECT_EQ(message_of(header + good + "gfx1,80,gemm,k,M=1,2,a.co\n"),
            "'" + path_ + "', line 3: arch is 'gfx1', but must be an architecture of the simulator");
  for (const char* us : {"0", "-1", "nan", "inf", "2x", ""})
    EXPECT_EQ(message_of(header + "gfx942,80,gemm,k,M=1," + us + ",a.co\n"),
              "'" + path_ + "', line 2: us is '" + us + "', but must be a positive number of microseconds");
  EXPECT_EQ(message_of(header + "gfx942,none,gemm,k,M=1,2,a.co\n"),
            "'" + path_ + "', line 2: cus is 'none', but must be a number from 1 on");
  EXPECT_EQ(message([] { read_measurements("/none.csv"); }), "cannot read '/none.csv'");
}

TEST(Shapes, AreReadAndChanged) {
  Shape shape("M=256 N=1536  splitK=2 bias= out=float32");
  EXPECT_EQ(shape.number("M"), 256U);
  EXPECT_EQ(shape.word("out"), "float32");
  EXPECT_EQ(shape.word("bias"), "");
  shape.set("M", 5);
  EXPECT_EQ(shape.text(), "M=5 N=1536 bias= out=float32 splitK=2");
  EXPECT_EQ(shape.text_without("splitK"), "M=5 N=1536 bias= out=float32");
  EXPECT_EQ(message([&] { (void)shape.number("K"); }),
            "shape 'M=5 N=1536 bias= out=float32 splitK=2': K must be a number from 1 on");
  EXPECT_EQ(message([] { Shape("M=1 M=2"); }), "shape 'M=1 M=2' has M twice");
  EXPECT_EQ(message([] { Shape("M=1 N"); }), "shape 'M=1 N': 'N' is not name=value");
}

}  // namespace
}  // namespace rapt::sim::validate
