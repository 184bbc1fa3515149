// See check_finite.h.
#include "runtime/train/check_finite.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/layout.h"

namespace mxc::train {
namespace {

const char* kind_of(double number) { return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"; }

// "nan at [3, 0]", or "nan" of a scalar; empty if all are finite.
template <typename T>
std::string first_wrong(const plan::Buffer& buffer, int64_t n, const void* plain) {
  const T* values = static_cast<const T*>(plain);
  const int64_t count = core::elements(buffer, n);
  for (int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    std::vector<int64_t> index(buffer.rank);
    int64_t rest = i;
    for (int axis = buffer.rank - 1; axis >= 0; --axis) {
      index[axis] = rest % core::extent(buffer, axis, n);
      rest /= core::extent(buffer, axis, n);
    }
    return absl::StrCat(kind_of(values[i]), index.empty() ? "" : absl::StrCat(" at [", absl::StrJoin(index, ", "), "]"));
  }
  return "";
}

bool is_real(plan::DType dtype) { return dtype == plan::DType::f32 || dtype == plan::DType::f64; }

}  // namespace

void FiniteCheck::start(int64_t n, bool first) {
  n_ = n;
  first_ = first;
  found_.clear();
}

core::Observer FiniteCheck::observer() {
  core::Observer observer;
  observer.context = this;
  observer.item_begin = [](void* context, uint32_t item) {
    FiniteCheck& self = *static_cast<FiniteCheck*>(context);
    if (item == 0) self.check_inputs();
    return self.found_.empty();
  };
  // After the last item nothing begins, so that a run may end well although something was found: the caller asks.
  observer.step_end = [](void* context, uint32_t step) { static_cast<FiniteCheck*>(context)->check_step(step); };
  return observer;
}

std::string FiniteCheck::look(const plan::Buffer& buffer, const void* memory) {
  if (!is_real(buffer.dtype)) return "";
  plain_.resize(core::plain_bytes(buffer, n_));
  core::unpack(buffer, n_, memory, plain_.data());
  return buffer.dtype == plan::DType::f32 ? first_wrong<float>(buffer, n_, plain_.data())
                                          : first_wrong<double>(buffer, n_, plain_.data());
}

void FiniteCheck::check_inputs() {
  for (const plan::Binding& binding : view_.inputs(view_.graph(executor_.graph()))) {
    const plan::Buffer& buffer = view_.buffer(binding.buffer);
    const std::string wrong = look(buffer, executor_.address(binding.buffer));
    if (!wrong.empty() && found_.empty()) found_ = absl::StrCat("the data have ", wrong, " for input ", view_.text(binding.name));
  }
  if (!first_) return;
  for (const plan::Buffer& buffer : view_.buffers()) {
    if (buffer.space != plan::Space::persistent) continue;
    const std::string wrong = look(buffer, executor_.address(static_cast<uint32_t>(&buffer - view_.buffers().data())));
    if (!wrong.empty() && found_.empty()) found_ = absl::StrCat(view_.text(buffer.name), " is ", wrong, " before the first step");
  }
}

void FiniteCheck::check_step(uint32_t index) {
  if (!found_.empty()) return;
  const plan::Step& step = view_.step(index);
  for (const plan::Arg& arg : view_.args(step)) {
    if (arg.access == plan::Access::read) continue;
    const plan::Buffer& buffer = view_.buffer(arg.buffer);
    const std::string wrong = look(buffer, executor_.address(arg.buffer));
    if (wrong.empty()) continue;
    const char* name = view_.text(buffer.name);
    const char* place = view_.text(step.location);
    found_ = absl::StrCat(*name ? name : view_.text(step.name), " is ", wrong, ", computed", *place ? " at " : "", place, " by ",
                          view_.text(step.name));
    return;
  }
}

}  // namespace mxc::train
