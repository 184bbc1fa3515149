// Contractions against plain loops in double: convolutions in all directions and matrix products, over odd shapes.
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

#include "tests/compiler/codegen/op_cases.h"

namespace mxc {
namespace {

constexpr double kUnset = 12345;  // what lies in memory that is not written

// Runs `program` with batch n whole and cut in pieces; `reference(a, b, add)` is the witness. A sum of
// `terms` products in working precision is off by at most terms * u * (sum of their magnitudes); pieces must agree to the bit, and
// memory that holds no element must stay as it was.
template <typename T, typename Reference>
void check(const OpCase& c, const OpProgram& program, int64_t n, double terms, const Reference& reference) {
  const Placement &pa = program.operand(0), &pb = program.operand(1), &pr = program.result();
  std::vector<T> a = randomElements<T>(pa.elements, 1), b = randomElements<T>(pb.elements, 2);
  std::vector<T> whole(pr.elements, kUnset), pieces(pr.elements, kUnset);
  program.run({a.data(), b.data(), whole.data()}, n);
  program.run({a.data(), b.data(), pieces.data()}, n, 7);
  EXPECT_EQ(0, std::memcmp(whole.data(), pieces.data(), whole.size() * sizeof(T))) << "depends on the partition";
  std::vector<double> want(pr.elements, 0), magnitude(pr.elements, 0);
  std::vector<char> used(pr.elements, 0);
  std::vector<int64_t> index(pr.dims.size(), 0), dims = pr.dims;
  if (c.result.batch >= 0) dims[c.result.batch] = n;
  for (bool more = true; more;) {
    used[pr.at(index)] = 1;
    more = false;
    for (size_t axis = dims.size(); axis-- > 0 && !more;) {
      more = ++index[axis] < dims[axis];
      if (!more) index[axis] = 0;
    }
  }
  reference([&](const std::vector<int64_t>& i) { return static_cast<double>(a[pa.at(i)]); },
            [&](const std::vector<int64_t>& i) { return static_cast<double>(b[pb.at(i)]); },
            [&](const std::vector<int64_t>& i, double v) {
              want[pr.at(i)] += v;
              magnitude[pr.at(i)] += std::abs(v);
            });
  double unit = std::numeric_limits<T>::epsilon() / 2, worst = 0;
  int64_t at = 0;
  for (int64_t i = 0; i < pr.elements; ++i) {
    double expected = !used[i] ? kUnset : c.after == "tanh" ? std::tanh(want[i]) : want[i];
    double error = std::abs(whole[i] - expected) / (!used[i] ? 1e-300 : unit * ((terms + 1) * magnitude[i] + (c.after.empty() ? 0 : 10)));
    if (expected == whole[i]) continue;
    if (!(error <= worst)) worst = error, at = i;
  }
  EXPECT_LE(worst, 1) << "at " << at << ": " << whole[at] << " for " << (used[at] ? want[at] : kUnset);
}

std::string text(const ConvShape& s) {
  return "n" + std::to_string(s.n) + " ic" + std::to_string(s.ic) + " " + std::to_string(s.h) + "x" + std::to_string(s.w) + " oc" +
         std::to_string(s.oc) + " k" + std::to_string(s.kh) + "x" + std::to_string(s.kw) + " s" + std::to_string(s.stride) + " p" +
         std::to_string(s.pad) + " d" + std::to_string(s.dilation) + " g" + std::to_string(s.groups);
}

const ConvShape kConvs[] = {
    {.n = 3, .ic = 1, .h = 28, .w = 28, .oc = 20, .kh = 5, .kw = 5},
    {.n = 3, .ic = 20, .h = 12, .w = 12, .oc = 50, .kh = 5, .kw = 5},
    {.n = 2, .ic = 1, .h = 8, .w = 8, .oc = 16, .kh = 3, .kw = 3, .pad = 1},
    {.n = 2, .ic = 16, .h = 4, .w = 4, .oc = 32, .kh = 3, .kw = 3, .pad = 1},
    {.n = 2, .ic = 16, .h = 3, .w = 3, .oc = 32, .kh = 3, .kw = 3, .pad = 1},
    {.n = 3, .ic = 40, .h = 2, .w = 2, .oc = 24, .kh = 3, .kw = 3, .pad = 1},
    {.n = 2, .ic = 64, .h = 14, .w = 14, .oc = 64, .kh = 3, .kw = 3, .pad = 1},
    {.n = 1, .ic = 128, .h = 7, .w = 7, .oc = 48, .kh = 3, .kw = 3, .pad = 1},
    {.n = 2, .ic = 3, .h = 33, .w = 31, .oc = 17, .kh = 7, .kw = 7, .stride = 2, .pad = 3},
    {.n = 2, .ic = 32, .h = 15, .w = 13, .oc = 33, .kh = 3, .kw = 3, .stride = 2, .pad = 1},
    {.n = 2, .ic = 32, .h = 9, .w = 9, .oc = 18, .kh = 1, .kw = 1},
    {.n = 2, .ic = 35, .h = 9, .w = 9, .oc = 18, .kh = 1, .kw = 1, .stride = 2},
    {.n = 2, .ic = 19, .h = 12, .w = 11, .oc = 21, .kh = 3, .kw = 2, .pad = 2, .dilation = 2},
    {.n = 2, .ic = 32, .h = 10, .w = 10, .oc = 64, .kh = 3, .kw = 3, .pad = 1, .groups = 2},
    {.n = 2, .ic = 12, .h = 6, .w = 6, .oc = 8, .kh = 3, .kw = 3, .pad = 1, .groups = 4},
    {.n = 2, .ic = 24, .h = 9, .w = 9, .oc = 24, .kh = 3, .kw = 3, .pad = 1, .groups = 24},
    {.n = 1, .ic = 1, .h = 1, .w = 1, .oc = 1, .kh = 1, .kw = 1},
    {.n = 9, .ic = 18, .h = 5, .w = 5, .oc = 10, .kh = 5, .kw = 5},
    {.n = 2, .ic = 16, .h = 3, .w = 120, .oc = 16, .kh = 3, .kw = 3, .stride = 3, .pad = 2, .dilation = 3},
};

class Conv : public testing::TestWithParam<ConvShape> {
 public:
  template <typename T>
  void run(Direction direction, const char* element, const std::string& after = "", int registerBytes = 0, int registers = 0) {
    const ConvShape& s = GetParam();
    OpCase c = convCase(s, direction);
    c.element = element;
    c.after = after;
    c.registerBytes = registerBytes;
    c.registers = registers;
    SCOPED_TRACE(text(s) + " " + c.op + " " + element + " " + after);
    auto program = OpProgram::compile(c);
    ASSERT_TRUE(program);
    double terms = direction == Direction::forward ? s.ic * s.kh * s.kw : direction == Direction::data ? s.oc * s.kh * s.kw : s.n * s.oh() * s.ow();
    for (int64_t n : {s.n, int64_t{1}}) {
      SCOPED_TRACE("batch " + std::to_string(n));
      check<T>(c, *program, n, terms, [&](auto a, auto b, auto add) { convReference(s, direction, n, a, b, add); });
    }
  }
};

TEST_P(Conv, Forward) { run<float>(Direction::forward, "f32"); }
TEST_P(Conv, Fused) { run<float>(Direction::forward, "f32", "tanh"); }
TEST_P(Conv, BackwardData) { run<float>(Direction::data, "f32"); }
TEST_P(Conv, BackwardWeight) { run<float>(Direction::weight, "f32"); }
// Tiles as for a processor with other registers: the same sums, more or fewer at once.
TEST_P(Conv, OtherRegisters) {
  run<float>(Direction::forward, "f32", "", 64, 32);
  run<float>(Direction::weight, "f32", "", 16, 16);
}
TEST_P(Conv, Double) {
  run<double>(Direction::forward, "f64");
  run<double>(Direction::data, "f64");
  run<double>(Direction::weight, "f64");
}
INSTANTIATE_TEST_SUITE_P(Shapes, Conv, testing::ValuesIn(kConvs));

const ProductShape kProducts[] = {
    {.m = 64, .k = 800, .n = 500, .transposeB = true},
    {.m = 64, .k = 500, .n = 10, .transposeB = true},
    {.m = 64, .k = 10, .n = 500},
    {.m = 500, .k = 64, .n = 80, .transposeA = true, .batch = 'k'},
    {.m = 10, .k = 64, .n = 50, .transposeA = true, .batch = 'k'},
    {.m = 200, .k = 700, .n = 130, .batch = '-'},
    {.m = 1, .k = 300, .n = 70},
    {.m = 7, .k = 1, .n = 5},
    {.m = 5, .k = 33, .n = 1},
    {.m = 31, .k = 47, .n = 16, .transposeA = true, .transposeB = true, .batch = '-'},
    {.m = 30, .k = 20, .n = 40, .batch = 'n'},
};

class Product : public testing::TestWithParam<ProductShape> {
 public:
  template <typename T>
  void run(const char* element, bool wished) {
    const ProductShape& s = GetParam();
    OpCase c = productCase(s);
    c.element = element;
    c.wished = wished;
    SCOPED_TRACE(c.attributes + " " + std::to_string(s.m) + "x" + std::to_string(s.k) + "x" + std::to_string(s.n) + " " + element + (wished ? "" : " plain"));
    auto program = OpProgram::compile(c);
    ASSERT_TRUE(program);
    int64_t batch = s.batch == 'm' ? s.m : s.batch == 'k' ? s.k : s.n;
    for (int64_t n : {batch, std::min<int64_t>(batch, 5)}) {
      if (s.batch == '-' && n != batch) continue;
      SCOPED_TRACE("batch " + std::to_string(n));
      int64_t m = s.batch == 'm' ? n : s.m, k = s.batch == 'k' ? n : s.k, columns = s.batch == 'n' ? n : s.n;
      check<T>(c, *program, n, static_cast<double>(s.k), [&](auto a, auto b, auto add) {
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < columns; ++j)
            for (int64_t l = 0; l < k; ++l)
              add({i, j}, a(s.transposeA ? std::vector<int64_t>{l, i} : std::vector<int64_t>{i, l}) *
                              b(s.transposeB ? std::vector<int64_t>{j, l} : std::vector<int64_t>{l, j}));
      });
    }
  }
};

TEST_P(Product, Single) { run<float>("f32", true); }
TEST_P(Product, Plain) { run<float>("f32", false); }
TEST_P(Product, Double) { run<double>("f64", true); }
INSTANTIATE_TEST_SUITE_P(Shapes, Product, testing::ValuesIn(kProducts));

}  // namespace
}  // namespace mxc
