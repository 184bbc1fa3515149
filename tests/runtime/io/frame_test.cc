#include "runtime/io/frame.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace mxc::io {
namespace {

Picture grey(int64_t width, int64_t height, std::vector<uint8_t> pixels) { return {width, height, 1, std::move(pixels)}; }

std::vector<float> seen(const Picture& picture, const Window& window, int64_t width, int64_t height) {
  std::vector<float> out(picture.channels * width * height, -1);
  resample(picture, window, width, height, out.data());
  return out;
}

Framing framing(int64_t width, int64_t height) {
  Framing f;
  f.width = width;
  f.height = height;
  return f;
}

TEST(Window, CentreWithoutVariation) {
  const Framing same = framing(32, 32);
  Window w = choose_window(same, 32, 32, nullptr, 0);
  EXPECT_EQ(std::make_pair(w.x, w.y), std::make_pair(0.0, 0.0));
  EXPECT_EQ(std::make_pair(w.width, w.height), std::make_pair(32.0, 32.0));
  EXPECT_FALSE(w.mirrored);
  // 64x100 covers 32x32 at half its size: 32x50, of which rows 9 to 41 are the middle: 18 to 82 of the picture.
  w = choose_window(framing(32, 32), 64, 100, nullptr, 0);
  EXPECT_EQ(std::make_pair(w.x, w.y), std::make_pair(0.0, 18.0));
  EXPECT_EQ(std::make_pair(w.width, w.height), std::make_pair(64.0, 64.0));
  // A shorter side of 40 from 80x100: 40x50; the middle 32x32 begins at (4, 9), in the picture (8, 18).
  Framing shorter = framing(32, 32);
  shorter.resize = Framing::Resize::shorter_side;
  shorter.shorter_side = 40;
  w = choose_window(shorter, 80, 100, nullptr, 0);
  EXPECT_EQ(std::make_pair(w.x, w.y), std::make_pair(8.0, 18.0));
  EXPECT_EQ(std::make_pair(w.width, w.height), std::make_pair(64.0, 64.0));
  Framing stretch = framing(10, 20);
  stretch.resize = Framing::Resize::stretch;
  w = choose_window(stretch, 30, 30, nullptr, 0);
  EXPECT_EQ(std::make_pair(w.x, w.y), std::make_pair(0.0, 0.0));
  EXPECT_DOUBLE_EQ(w.width, 30);
  EXPECT_DOUBLE_EQ(w.height, 30);
}

TEST(Window, RandomCropsReachEveryPlaceAndNoOther) {
  Framing f = framing(32, 32);
  f.crop = Framing::Crop::random;
  f.pad = 2;
  f.flip = true;
  std::set<std::pair<double, double>> places;
  int mirrored = 0;
  for (int64_t row = 0; row < 1000; ++row) {
    const Variation variation{7, 3};
    const Window w = choose_window(f, 33, 32, &variation, row);
    EXPECT_EQ(w.width, 32);
    EXPECT_EQ(w.height, 32);
    places.insert({w.x, w.y});
    mirrored += w.mirrored;
  }
  // x from -2 to 3, y from -2 to 2.
  EXPECT_EQ(places.size(), 30u);
  EXPECT_EQ(*places.begin(), std::make_pair(-2.0, -2.0));
  EXPECT_EQ(*places.rbegin(), std::make_pair(3.0, 2.0));
  EXPECT_NEAR(mirrored, 500, 60);  // four standard deviations
}

TEST(Window, IsAFunctionOfSeedEpochAndRow) {
  Framing f = framing(8, 8);
  f.crop = Framing::Crop::area;
  f.flip = true;
  const auto draw = [&](uint64_t seed, uint32_t epoch, int64_t row) {
    const Variation variation{seed, epoch};
    const Window w = choose_window(f, 640, 480, &variation, row);
    return std::make_tuple(w.x, w.y, w.width, w.height);
  };
  EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(2, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 3, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 2, 4));
  EXPECT_NE(draw(1, 2, 3), draw(1 + (uint64_t{1} << 40), 2, 3));
}

TEST(Window, RandomAreasLieInThePicture) {
  Framing f = framing(8, 8);
  f.crop = Framing::Crop::area;
  double least = 1, most = 0;
  for (int64_t row = 0; row < 1000; ++row) {
    const Variation variation{0, 0};
    const Window w = choose_window(f, 640, 480, &variation, row);
    EXPECT_GE(w.x, 0);
    EXPECT_GE(w.y, 0);
    EXPECT_LE(w.x + w.width, 640 + 1e-9);
    EXPECT_LE(w.y + w.height, 480 + 1e-9);
    EXPECT_GE(w.width / w.height, 0.75 - 1e-9);
    EXPECT_LE(w.width / w.height, 4.0 / 3 + 1e-9);
    const double area = w.width * w.height / (640 * 480);
    least = std::min(least, area);
    most = std::max(most, area);
  }
  EXPECT_GE(least, 0.08);
  EXPECT_LT(least, 0.10);
  EXPECT_GT(most, 0.9);
  // A picture too narrow for any of them gives its middle.
  const Variation variation{0, 0};
  const Window w = choose_window(f, 1000, 10, &variation, 0);
  EXPECT_EQ(std::make_pair(w.width, w.height), std::make_pair(10.0, 10.0));
}

TEST(Resample, CopiesWholePixelsExactlyWithBlackOutside) {
  const Picture p = grey(3, 2, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(seen(p, {0, 0, 3, 2}, 3, 2), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(seen(p, {0, 0, 3, 2, true}, 3, 2), (std::vector<float>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(seen(p, {-1, 1, 3, 2}, 3, 2), (std::vector<float>{0, 4, 5, 0, 0, 0}));
  EXPECT_EQ(seen(p, {1, -1, 3, 2, true}, 3, 2), (std::vector<float>{0, 0, 0, 0, 3, 2}));
  const Picture colours = {2, 1, 3, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(seen(colours, {0, 0, 2, 1}, 2, 1), (std::vector<float>{1, 4, 2, 5, 3, 6}));  // channel after channel
}

TEST(Resample, Enlarges) {
  // Between the middles of two pixels linear, at the border constant.
  EXPECT_EQ(seen(grey(2, 1, {0, 100}), {0, 0, 2, 1}, 4, 1), (std::vector<float>{0, 25, 75, 100}));
  EXPECT_EQ(seen(grey(2, 1, {0, 100}), {0, 0, 2, 1, true}, 4, 1), (std::vector<float>{100, 75, 25, 0}));
  EXPECT_EQ(seen(grey(1, 2, {0, 100}), {0, 0, 1, 2}, 1, 4), (std::vector<float>{0, 25, 75, 100}));
}

TEST(Resample, Shrinks) {
  // To half: the triangle of base 4 weighs 1 3 3 1 eighths; at the border what lies inside: 3 3 1 of 7.
  const std::vector<float> half = seen(grey(6, 1, {10, 20, 60, 80, 160, 240}), {0, 0, 6, 1}, 3, 1);
  ASSERT_EQ(half.size(), 3u);
  EXPECT_FLOAT_EQ(half[0], (3 * 10 + 3 * 20 + 60) / 7.0f);
  EXPECT_FLOAT_EQ(half[1], (20 + 3 * 60 + 3 * 80 + 160) / 8.0f);
  EXPECT_FLOAT_EQ(half[2], (80 + 3 * 160 + 3 * 240) / 7.0f);
  // A slope stays one, whatever the ratio.
  std::vector<uint8_t> slope(60 * 60);
  for (int y = 0; y < 60; ++y) {
    for (int x = 0; x < 60; ++x) slope[60 * y + x] = static_cast<uint8_t>(2 * x + y);
  }
  const std::vector<float> small = seen(grey(60, 60, slope), {0, 0, 60, 60}, 7, 7);
  for (int y = 1; y < 6; ++y) {
    for (int x = 1; x < 6; ++x) EXPECT_NEAR(small[7 * y + x], 2 * ((x + 0.5) * 60 / 7 - 0.5) + (y + 0.5) * 60 / 7 - 0.5, 0.05);
  }
}

TEST(Resample, PointsOutsideAreBlack) {
  // A window of twice the picture's width, resized: its outer quarters are outside.
  const std::vector<float> out = seen(grey(2, 1, {80, 80}), {-1, 0, 4, 1}, 8, 1);
  for (int x : {0, 1, 6, 7}) EXPECT_EQ(out[x], 0) << x;
  for (int x : {2, 3, 4, 5}) EXPECT_FLOAT_EQ(out[x], 80) << x;
  EXPECT_EQ(seen(grey(2, 1, {80, 80}), {5, 5, 4, 4}, 2, 2), (std::vector<float>(4, 0)));
}

}  // namespace
}  // namespace mxc::io
