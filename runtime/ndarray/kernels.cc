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

const KernelFamily* cast_family(plan::DType to) {
  static const KernelFamily* const kFamilies[kDTypes] = {find_family("cast.f32"), find_family("cast.f64"), find_family("cast.f16"),
                                                         find_family("cast.bf16"), find_family("cast.i8"), find_family("cast.u8"),
                                                         find_family("cast.i32"), find_family("cast.i64"), find_family("cast.boolean")};
  return kFamilies[static_cast<int>(to)];
}

void start(const Kernel& k, void* state) {
  size_t bytes = core::dtype_bytes(k.state);
  for (int i = 0; i < k.lanes; ++i) std::memcpy(static_cast<char*>(state) + i * bytes, &k.identity, bytes);
}

std::string_view kernel_level() { return table().level; }

}  // namespace mxc::ndarray
