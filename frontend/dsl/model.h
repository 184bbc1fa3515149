// What makes a graph of symbols a model: inputs, parameters of one's own, the loss, reports, outputs, the optimizer.
#pragma once

#include <string>

#include "mxc/model_handle.h"
#include "mxc/parameter.h"
#include "mxc/symbol.h"
#include "mxc/types.h"

namespace mxc {

namespace detail {
// Where a model is written; found under the symbol mxc_model_<name>.
struct ModelInfo {
  const char* name;
  const char* file;
  unsigned line;
};
}  // namespace detail

// The head of the function that describes a model. Staging calls it by its name; in a program with a `main` nobody does, and the host compiler
// leaves it out (mxc defines MXC_WITHOUT_STAGING).
#ifdef MXC_WITHOUT_STAGING
#define MXC_MODEL_FUNCTION(name) [[maybe_unused]] static void mxc_stage_##name()
#else
#define MXC_MODEL_FUNCTION(name)       \
  extern "C" void mxc_stage_##name(); \
  extern "C" void mxc_stage_##name()
#endif

// MXC_MODEL(lenet) { ... } describes a model, and makes `lenet` a constant of class Model. A file may hold several models. If it holds a
// `main` as well, all of them and it become one program; if not, `mxc compile --model=lenet` chooses. The constant lies in a namespace that is used: a model
// may be named as a function of the C library is, or of mxc's, and is then `mxc_models::exp`, for `exp` alone would be both.
#define MXC_MODEL(name)                                                                       \
  extern "C" const mxc::detail::ModelInfo mxc_model_##name;                                   \
  extern "C" constexpr mxc::detail::ModelInfo mxc_model_##name = {#name, __FILE__, __LINE__}; \
  extern "C" __attribute__((weak)) const mxc::plan::Program mxc_program_##name;               \
  namespace mxc_models {                                                                      \
  [[maybe_unused]] static const mxc::Model name = {#name, &mxc_program_##name};               \
  }                                                                                           \
  using namespace mxc_models;                                                                 \
  MXC_MODEL_FUNCTION(name)

struct InputOptions {
  // Backward computes the gradient of the loss with respect to this input too. It is there for a program with a `main`; training has no
  // use for it.
  bool gradient = false;
};

// Data that comes from outside: input("image", {batch(64), 1, 28, 28}). At most one axis is the batch; all inputs' batches are equal.
// Throws ModelError if the name is taken, a size is not positive, or a gradient is asked for of an input that is not floating-point.
Symbol input(const std::string& name, const Shape& shape, DType dtype = f32, const InputOptions& options = {}, Here where = Here::current());

// A parameter of one's own, trainable unless `param.gradient` is none. `param.symbol` is not used.
Symbol parameter(const std::string& name, const Shape& shape, const Param& param = {}, Here where = Here::current());

// Training descends on the mean over the batch of `loss`. Several calls: on the sum. A trainable parameter that it depends on, but only
// through what has no gradient (accuracy, argmax, comparisons, integers), is an error of the compiler, which shows the way; stop_gradient on
// that way says that none is wanted.
void minimize(const Operand& loss, Here where = Here::current());
// Progress shows the mean of `value` under `name`.
void report(const std::string& name, const Operand& value, Here where = Here::current());
// Inference returns `value` under `name`.
void output(const std::string& name, const Operand& value, Here where = Here::current());

// Optimizers, with the defaults of their hyper-parameters; the kind is fixed when compiling, the numbers can be changed at run time.
// Order of things: the gradient times rescale; all gradients scaled to a norm of at most clip_norm together, if that is positive; each
// element clipped to +-clip, if that is positive; weight decay; the rule. A parameter's lr_mult and wd_mult multiply lr and weight_decay.
// The gradients are those of the loss times loss_scale, by which rescale is divided: small ones do not vanish on their way, and with a power
// of two not a bit of the result changes. clip_norm = 0 and loss_scale = 1 leave these two out of the program: no flag turns them on.
struct sgd {
  double lr = 0.01, momentum = 0, weight_decay = 0;
  bool nesterov = false;
  double rescale = 1, clip = 0, clip_norm = 0, loss_scale = 1;
};
// Kingma and Ba 2015.
struct adam {
  double lr = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0, rescale = 1, clip = 0, clip_norm = 0, loss_scale = 1;
};
// Loshchilov and Hutter 2019: weight decay apart from the gradient.
struct adamw {
  double lr = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.01, rescale = 1, clip = 0, clip_norm = 0, loss_scale = 1;
};
// Tieleman and Hinton 2012.
struct rmsprop {
  double lr = 0.001, rho = 0.9, epsilon = 1e-8, weight_decay = 0, rescale = 1, clip = 0, clip_norm = 0, loss_scale = 1;
};
// Duchi, Hazan and Singer 2011.
struct adagrad {
  double lr = 0.01, epsilon = 1e-7, weight_decay = 0, rescale = 1, clip = 0, clip_norm = 0, loss_scale = 1;
};
// Zeiler 2012.
struct adadelta {
  double lr = 1, rho = 0.95, epsilon = 1e-6, weight_decay = 0, rescale = 1, clip = 0, clip_norm = 0, loss_scale = 1;
};
// McMahan et al. 2013: weights whose accumulated gradient is at most l1 are exactly 0. Weight decay is the rule's own L2 term.
struct ftrl {
  double lr = 0.1, l1 = 0.01, beta = 1, weight_decay = 0, rescale = 1, clip = 0, clip_norm = 0, loss_scale = 1;
};
// You et al. 2020: Adam's step of each parameter, decay included, as long as lr times the parameter.
struct lamb {
  double lr = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, weight_decay = 0.01, rescale = 1, clip = 0, clip_norm = 0, loss_scale = 1;
};
// You, Gitman and Ginsburg 2017: momentum, each parameter's rate times eta |w| / (|g| + weight_decay |w| + epsilon).
struct lars {
  double lr = 0.1, momentum = 0.9, eta = 0.001, epsilon = 1e-8, weight_decay = 0.0001, rescale = 1, clip = 0, clip_norm = 0, loss_scale = 1;
};
// The model's optimizer; `mxc compile --optimizer=...` overrides it. Without either: sgd. At most one call.
void optimizer(const sgd& kind, Here where = Here::current());
void optimizer(const adam& kind, Here where = Here::current());
void optimizer(const adamw& kind, Here where = Here::current());
void optimizer(const rmsprop& kind, Here where = Here::current());
void optimizer(const adagrad& kind, Here where = Here::current());
void optimizer(const adadelta& kind, Here where = Here::current());
void optimizer(const ftrl& kind, Here where = Here::current());
void optimizer(const lamb& kind, Here where = Here::current());
void optimizer(const lars& kind, Here where = Here::current());

}  // namespace mxc
