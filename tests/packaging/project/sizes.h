constexpr int kUnits = 1;
constexpr double kFactor = 1;
