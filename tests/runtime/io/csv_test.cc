#include <cmath>

#include "tests/runtime/gzip_text.h"
#include "tests/runtime/io/source_test.h"

namespace mxc::io {
namespace {

using mxc::test::TempDir;

const std::vector<Field> kInputs = {floats("x", {2}), classes("y", 3)};

TEST(Csv, RangesAndTheRest) {
  TempDir dir;
  const std::string file = dir.write("a.csv", "1,2.5,0\n-3,4e1,1\r\n\n 5 , +6 ,2\n");
  for (const char* columns : {"?y=2", "?x=0-1", "?x=0,1&y=2", "?x=0-1&y=2"}) {
    auto data = open_data("csv:" + file + columns, kInputs);
    ASSERT_TRUE(data.ok()) << columns << data.status();
    EXPECT_EQ(data->train->count(), 3);
    EXPECT_EQ(read_rows<float>(*data->train, "x", {1, 2, 0}), (std::vector<float>{-3, 40, 5, 6, 1, 2.5}));
    EXPECT_EQ(read_rows<int32_t>(*data->train, "y", {0, 1, 2}), (std::vector<int32_t>{0, 1, 2}));
  }
  auto swapped = open_data("csv:" + file + "?x=1,0&y=2&scale=2", kInputs);
  ASSERT_TRUE(swapped.ok());
  EXPECT_EQ(read_rows<float>(*swapped->train, "x", {1}), (std::vector<float>{20, -1.5}));
  EXPECT_EQ(read_rows<int32_t>(*swapped->train, "y", {2}), std::vector<int32_t>{2});  // classes are not scaled
}

TEST(Csv, HeaderNamesQuotesAndWords) {
  TempDir dir;
  const std::string file =
      dir.write("a.csv", mxc::test::gzip("\xef\xbb\xbfname,\"width, cm\",height-cm,y\nrose,1,2,0\n\"a,b\",\"3\",4,1\n"));
  // y by its name; x by a name with a comma inside is out of reach, by number and by name with a dash it is not.
  auto data = open_data("csv:" + file + "?x=1,height-cm", kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(read_rows<float>(*data->train, "x", {0, 1}), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(read_rows<int32_t>(*data->train, "y", {0, 1}), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(error_of("csv:" + file + "?x=0-1", kInputs), file + ":2: column 0: 'rose' is not a number");
  EXPECT_EQ(error_of("csv:" + file + "?x=1,depth", kInputs), file + ": there is no column 'depth' in the header");
  // A header of numbers must be announced.
  const std::string years = dir.write("b.csv", "1999,2000,2001\n1,2,0\n");
  EXPECT_EQ(open_data("csv:" + years + "?y=2&header=yes", kInputs)->train->count(), 1);
  EXPECT_EQ(error_of("csv:" + years + "?y=2", kInputs), years + ":1: column 2: y 2001 is outside the model's classes [0, 3)");
  EXPECT_EQ(error_of("csv:" + years + "?y=2&header=maybe", kInputs),
            "csv:" + years + "?y=2&header=maybe: header must be auto, yes or no, not 'maybe'");
}

// A row with a number in it is a sample: a gap or a slip in the first one is an error, not a header.
TEST(Csv, TheFirstRowIsNotLost) {
  TempDir dir;
  const std::string hint = "; if this row is a header, say header=yes";
  const std::string gap = dir.write("gap", "1,,0\n3,4,1\n"), slip = dir.write("slip", "\n1,2,0x\n3,4,1\n");
  EXPECT_EQ(error_of("csv:" + gap + "?y=2", kInputs), gap + ":1: column 1: '' is not a number" + hint);
  EXPECT_EQ(error_of("csv:" + gap + "?y=2&header=no", kInputs), gap + ":1: column 1: '' is not a number");
  EXPECT_EQ(error_of("csv:" + slip + "?y=2", kInputs), slip + ":2: column 2: '0x' is not a number" + hint);
  auto asked = open_data("csv:" + slip + "?y=0x&header=yes", kInputs);
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_EQ(asked->train->count(), 1);
  // A column of words that nobody asked for.
  auto flowers = open_data("csv:" + dir.write("flowers", "rose,1,2,0\naster,3,4,1\n") + "?x=1-2&y=3", kInputs);
  ASSERT_TRUE(flowers.ok()) << flowers.status();
  EXPECT_EQ(read_rows<float>(*flowers->train, "x", {0, 1}), (std::vector<float>{1, 2, 3, 4}));
  // What stands for a missing or an endless number is one.
  for (const char* cell : {"nan", "-inf", "1e999"}) {
    const std::string row = absl::StrCat(cell, ",", cell, ",", cell), file = dir.write("none", row + "\n1,2,0\n");
    EXPECT_EQ(error_of("csv:" + file + "?y=2", kInputs), file + ":1: column 0: '" + cell + "' is not a number" + hint);
    EXPECT_EQ(open_data("csv:" + file + "?y=2&header=yes", kInputs)->train->count(), 1);
  }
  // Neither words nor numbers: no header.
  EXPECT_EQ(error_of("csv:" + dir.write("commas", ",,\n1,2,0\n") + "?y=2", kInputs),
            dir.file("commas") + ":1: column 0: '' is not a number" + hint);
}

TEST(Csv, OddCellsAreShownEscapedAndCut) {
  TempDir dir;
  const std::string file = dir.write("a.csv", "1,2,0\n3,\x1b[31m\xff,0\n"), wide = dir.write("b.csv", "1,2,0\n3," + std::string(500, 'x') + ",0\n");
  EXPECT_EQ(error_of("csv:" + file + "?y=2", kInputs), file + ":2: column 1: '\\x1b[31m\\xff' is not a number");
  EXPECT_EQ(error_of("csv:" + wide + "?y=2", kInputs), wide + ":2: column 1: '" + std::string(60, 'x') + "...' is not a number");
}

TEST(Csv, OptionalInputsMayBeAbsent) {
  TempDir dir;
  const std::string file = dir.write("a.csv", "1,2\n3,4\n");
  auto data = open_data("csv:" + file, {floats("x", {2}), {"y", plan::DType::i32, {}, 3, true}});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train->find("y"), -1);
  EXPECT_EQ(read_rows<float>(*data->train, "x", {1}), (std::vector<float>{3, 4}));
}

TEST(Csv, Faults) {
  TempDir dir;
  const std::string file = dir.write("a.csv", "1,2,0\n3,4,1\n");
  EXPECT_EQ(error_of("csv:" + dir.file("none"), kInputs), dir.file("none") + ": No such file or directory");
  EXPECT_EQ(error_of("csv:" + dir.write("empty", "\n"), kInputs), dir.file("empty") + ": the file is empty");
  EXPECT_EQ(error_of("csv:" + dir.write("h", "a,b,c\n") + "?y=2", kInputs), "csv:" + dir.file("h") + "?y=2: there are no samples");
  EXPECT_EQ(error_of("csv:" + dir.write("ragged", "1,2,0\n3,4\n") + "?y=2", kInputs),
            dir.file("ragged") + ":2: 2 cells, the rows above have 3");
  EXPECT_EQ(error_of("csv:" + dir.write("word", "1,2,0\n3,4x,0\n") + "?y=2", kInputs),
            dir.file("word") + ":2: column 1: '4x' is not a number");
  EXPECT_EQ(error_of("csv:" + dir.write("gap", "1,2,0\n3,,0\n") + "?y=2", kInputs),
            dir.file("gap") + ":2: column 1: '' is not a number");
  EXPECT_EQ(error_of("csv:" + dir.write("half", "1,2,0\n3,4,0.5\n") + "?y=2", kInputs),
            dir.file("half") + ":2: column 2: y 0.5 is not an integer");
  EXPECT_EQ(error_of("csv:" + dir.write("class", "1,2,0\n\n3,4,-1\n") + "?y=2", kInputs),
            dir.file("class") + ":3: column 2: y -1 is outside the model's classes [0, 3)");
  EXPECT_EQ(error_of("csv:" + file, kInputs), "csv:" + file + ": say which columns the inputs 'x' and 'y' take, for example ?y=2");
  EXPECT_EQ(error_of("csv:" + file + "?y=3", kInputs), file + ":1: there is no column 3; columns are 0 to 2");
  EXPECT_EQ(error_of("csv:" + file + "?y=label", kInputs),
            file + ": there is no column 'label' (the file has no header: use numbers)");
  EXPECT_EQ(error_of("csv:" + file + "?x=1-0", kInputs), "csv:" + file + "?x=1-0: the range 1-0 runs backwards");
  EXPECT_EQ(error_of("csv:" + file + "?y=2", {floats("x", {1, 3}), classes("y", 3)}),
            file + ":1: the model's input 'x' wants 3 columns (1x3), left are 2");
  EXPECT_EQ(error_of("csv:" + file + "?x=0&y=2", kInputs), file + ":1: the model's input 'x' wants 2 columns (2), given are 1");
  EXPECT_EQ(error_of("csv:" + file + "?y=2&hedaer=no", kInputs),
            "csv:" + file +
                "?y=2&hedaer=no: unknown parameter 'hedaer'; known: header, scale, holdout, holdout_seed, x (input), y (input)");
}

// What nobody trains on with intent: no numbers, and numbers that the model's type does not hold.
TEST(Csv, NoNumberIsNanOrInfinite) {
  TempDir dir;
  for (const char* cell : {"nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e999"}) {
    const std::string file = dir.write("a.csv", std::string("1,2,0\n3,") + cell + ",0\n");
    EXPECT_EQ(error_of("csv:" + file + "?y=2", kInputs), file + ":2: column 1: '" + cell + "' is not a number");
  }
  const std::string large = dir.write("large", "1,2,0\n1e300,4,0\n");
  EXPECT_EQ(error_of("csv:" + large + "?y=2", kInputs), large + ":2: column 0: '1e300' is too large for f32");
  EXPECT_TRUE(open_data("csv:" + large + "?y=2", {{"x", plan::DType::f64, {2}}, classes("y", 3)}).ok());
}

TEST(Csv, NumbersNextToZeroAreZero) {
  TempDir dir;
  const std::string file = dir.write("a.csv", "1e-400,-1e-999,0\n1e-60,4e-320,0\n");
  auto data = open_data("csv:" + file + "?y=2", {{"x", plan::DType::f64, {2}}, classes("y", 3)});
  ASSERT_TRUE(data.ok()) << data.status();
  const std::vector<double> read = read_rows<double>(*data->train, "x", {0, 1});
  EXPECT_EQ(read, (std::vector<double>{0, 0, 1e-60, 4e-320}));
  EXPECT_FALSE(std::signbit(read[0]));
  EXPECT_TRUE(std::signbit(read[1]));
  auto narrow = open_data("csv:" + file + "?y=2", kInputs);
  ASSERT_TRUE(narrow.ok()) << narrow.status();
  EXPECT_EQ(read_rows<float>(*narrow->train, "x", {1}), (std::vector<float>{0, 0}));
}

TEST(Csv, OtherSeparatorsAreGuessed) {
  TempDir dir;
  const std::string file = dir.write("a.csv", "\n1;2;0\n3;4;1\n"), tabs = dir.write("tabs", "1\t2\t0\n");
  EXPECT_EQ(error_of("csv:" + file + "?y=2", kInputs),
            file + ":2: there is no column 2; columns are 0 to 0; commas must stand between the cells, not ';'");
  EXPECT_EQ(error_of("csv:" + tabs + "?y=2", kInputs),
            tabs + ":1: there is no column 2; columns are 0 to 0; commas must stand between the cells, not tabs");
  EXPECT_EQ(error_of("csv:" + file, {floats("x", {2})}),
            file + ":2: the model's input 'x' wants 2 columns (2), left are 1; commas must stand between the cells, not ';'");
}

TEST(Csv, HoldoutIsAFunctionOfItsOwnSeed) {
  TempDir dir;
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + ",0,0\n";
  const std::string address = "csv:" + dir.write("a.csv", text) + "?y=2&holdout=0.25";
  const auto test_rows = [&](const std::string& more) {
    auto data = open_data(address + more, kInputs);
    EXPECT_TRUE(data.ok()) << data.status();
    std::vector<float> first;
    for (int64_t i = 0; i < data->test->count(); ++i) first.push_back(read_rows<float>(*data->test, "x", {i})[0]);
    // Together with the training part: each row exactly once.
    std::vector<bool> seen(100, false);
    for (float row : first) seen[static_cast<int>(row)] = true;
    for (int64_t i = 0; i < data->train->count(); ++i) {
      const int row = static_cast<int>(read_rows<float>(*data->train, "x", {i})[0]);
      EXPECT_FALSE(seen[row]);
      seen[row] = true;
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 100);
    return first;
  };
  EXPECT_EQ(test_rows("").size(), 25u);
  EXPECT_EQ(test_rows(""), test_rows("&holdout_seed=0"));
  EXPECT_NE(test_rows(""), test_rows("&holdout_seed=1"));
  for (const char* bad : {"0", "1", "x", "-0.5"}) {
    const std::string whole = "csv:" + dir.file("a.csv") + "?y=2&holdout=" + bad;
    EXPECT_EQ(error_of(whole, kInputs), whole + ": holdout must be a fraction between 0 and 1, not '" + bad + "'");
  }
  EXPECT_EQ(error_of("csv:" + dir.write("one", "1,2,0\n") + "?y=2&holdout=0.1", kInputs),
            "csv:" + dir.file("one") + "?y=2&holdout=0.1: holdout leaves one side without samples");
}

// The digits that the repository ships: 1,797 rows; the documented number of samples of each class.
TEST(Csv, Digits) {
  auto data = open_data("csv:" MXC_SOURCE_DIR "/examples/data/digits.csv.gz?label=64&scale=16",
                        {floats("image", {1, 8, 8}), classes("label", 10)});
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->train->count(), 1797);
  std::vector<int> seen(10, 0);
  for (int64_t i = 0; i < 1797; ++i) seen[read_rows<int32_t>(*data->train, "label", {i})[0]]++;
  EXPECT_EQ(seen, (std::vector<int>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
}

TEST(OpenData, UnknownScheme) {
  EXPECT_EQ(error_of("hdf5:x", kInputs), "hdf5:x: unknown kind of data 'hdf5'; known: mnist, cifar10, cifar100, csv, npz, images, random, text");
}

}  // namespace
}  // namespace mxc::io
