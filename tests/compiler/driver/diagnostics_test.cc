// Where the caret goes.
#include "driver/diagnostics.h"

#include <gtest/gtest.h>

namespace mxc::driver {
namespace {

using Caret = std::pair<size_t, size_t>;
const std::string kLine = "  h = max_pool(tanh(conv2d(h, {.filters = 50})) + tanh(h), {});";

TEST(FindCaret, TakesTheWordNearestToTheColumn) {
  EXPECT_EQ(findCaret(kLine, {"conv2d"}, 27), (Caret{21, 6}));  // GCC: the parenthesis
  EXPECT_EQ(findCaret(kLine, {"conv2d"}, 21), (Caret{21, 6}));  // clang: the name
  EXPECT_EQ(findCaret(kLine, {"tanh"}, 20), (Caret{16, 4}));
  EXPECT_EQ(findCaret(kLine, {"tanh"}, 55), (Caret{51, 4}));
}

TEST(FindCaret, TakesWholeWordsAlone) { EXPECT_EQ(findCaret("softmax(x, max(y))", {"max"}, 1), (Caret{12, 3})); }

TEST(FindCaret, FallsBackToTheNextWordAndToTheCallAtTheColumn) {
  EXPECT_EQ(findCaret(kLine, {"add", "+"}, 7), (Caret{49, 1}));
  EXPECT_EQ(findCaret(kLine, {"dense"}, 7), (Caret{7, 8}));   // clang: max_pool
  EXPECT_EQ(findCaret(kLine, {"dense"}, 15), (Caret{7, 8}));  // GCC: its parenthesis
  EXPECT_EQ(findCaret(kLine, {"dense"}, 5), (Caret{5, 1}));
  EXPECT_EQ(findCaret(kLine, {}, 900), (Caret{900, 1}));
  EXPECT_EQ(findCaret(kLine, {}, 0), (Caret{0, 0}));
}

}  // namespace
}  // namespace mxc::driver
