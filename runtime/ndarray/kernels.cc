// Which table of kernels, and the search in it. The tables are in the archive mxc_ndarray_kernels (codegen/imperative).
#include "runtime/ndarray/kernels.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/plan_view.h"

using mxc::ndarray::KernelFamily;

extern "C" {
#if defined(__x86_64__)
extern const KernelFamily mxc_ndarray_kernels_x86_64_v3[], mxc_ndarray_kernels_x86_64[];
extern const int64_t mxc_ndarray_families_x86_64_v3, mxc_ndarray_families_x86_64;
#else
extern const KernelFamily mxc_ndarray_kernels_native[];
extern const int64_t mxc_ndarray_families_native;
#endif
}

namespace mxc::ndarray {
namespace {

struct Table {
  const KernelFamily* families;
  int64_t count;
  std::string_view level;
};

Table table() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v3")) return {mxc_ndarray_kernels_x86_64_v3, mxc_ndarray_families_x86_64_v3, "x86-64-v3"};
  return {mxc_ndarray_kernels_x86_64, mxc_ndarray_families_x86_64, "x86-64"};
#else
  return {mxc_ndarray_kernels_native, mxc_ndarray_families_native, "native"};
#endif
}

}  // namespace

const KernelFamily* find_family(std::string_view name) {
  Table all = table();
  const KernelFamily* end = all.families + all.count;
  const KernelFamily* found =
      std::lower_bound(all.families, end, name, [](const KernelFamily& family, std::string_view wanted) { return family.name < wanted; });
  return found != end && found->name == name ? found : nullptr;
}

const Kernel* find_kernel(std::string_view name, plan::DType dtype, unsigned scalars) {
  const KernelFamily* family = find_family(name);
  return family ? family->find(dtype, scalars) : nullptr;
}

const Kernel* find_cast(plan::DType from, plan::DType to) {
  constexpr std::string_view kNames[kDTypes] = {"cast.f32", "cast.f64", "cast.f16", "cast.bf16",   "cast.i8",
                                                "cast.u8",  "cast.i32", "cast.i64", "cast.boolean"};
  return find_kernel(kNames[static_cast<int>(to)], from);
}

void start(const Kernel& k, void* state) {
  size_t bytes = core::dtype_bytes(k.state);
  for (int i = 0; i < k.lanes; ++i) std::memcpy(static_cast<char*>(state) + i * bytes, &k.identity, bytes);
}

std::string_view kernel_level() { return table().level; }

}  // namespace mxc::ndarray
