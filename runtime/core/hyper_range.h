// Which values of a hyper-parameter can mean something. Only what is certain is refused: no number at all for any of them, and for
// those whose name the optimizers share:
//     lr, weight_decay, clip, clip_norm, l1, beta, eta   at least 0
//     momentum, beta1, beta2, rho                        at least 0, below 1
//     epsilon, loss_scale                                above 0
//
// Freestanding: embedded libraries, which have no C++ library, use it too.
#pragma once

namespace mxc::core {

inline bool same_text(const char* a, const char* b) {
  for (; *a != 0 && *a == *b; ++a) ++b;
  return *a == *b;
}

// least <= value < below.
struct HyperRange {
  const char* name;
  double least, below;
  bool zero;  // is the value 0 within?
  const char* text;
};

inline constexpr double kNoEnd = __builtin_huge_val();
inline constexpr HyperRange kHyperRanges[] = {
    {"lr", 0, kNoEnd, true, "a number of at least 0"},           {"weight_decay", 0, kNoEnd, true, "a number of at least 0"},
    {"clip", 0, kNoEnd, true, "a number of at least 0"},         {"momentum", 0, 1, true, "a number of at least 0 and below 1"},
    {"beta1", 0, 1, true, "a number of at least 0 and below 1"}, {"beta2", 0, 1, true, "a number of at least 0 and below 1"},
    {"epsilon", 0, kNoEnd, false, "a number above 0"},           {"clip_norm", 0, kNoEnd, true, "a number of at least 0"},
    {"rho", 0, 1, true, "a number of at least 0 and below 1"},   {"l1", 0, kNoEnd, true, "a number of at least 0"},
    {"loss_scale", 0, kNoEnd, false, "a number above 0"},        {"beta", 0, kNoEnd, true, "a number of at least 0"},
    {"eta", 0, kNoEnd, true, "a number of at least 0"},
};
inline constexpr HyperRange kAnyNumber = {"", -kNoEnd, kNoEnd, true, "a finite number"};

inline const HyperRange& hyper_range(const char* name) {
  for (const HyperRange& range : kHyperRanges) {
    if (same_text(range.name, name)) return range;
  }
  return kAnyNumber;
}

// Whether a hyper-parameter can have a value, as the program holds it.
inline bool is_within(const HyperRange& range, double held) {
  bool finite = held - held == 0;
  return finite && held >= range.least && held < range.below && (range.zero || held != 0);
}

}  // namespace mxc::core
