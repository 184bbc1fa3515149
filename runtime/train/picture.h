// Small pictures as text: two characters a pixel, from a ramp of grey.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mxc::train {

constexpr int64_t kLargestPicture = 32;  // rows and columns

// True for samples of shape HxW, 1xHxW or 3xHxW with 2 <= H, W <= kLargestPicture.
bool is_picture(const std::vector<int64_t>& shape);

// One line a row. Three channels are averaged. The darkest value of the sample is blank, the brightest full.
std::vector<std::string> draw_picture(const std::vector<int64_t>& shape, const std::vector<double>& values);

}  // namespace mxc::train
