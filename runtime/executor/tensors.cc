// The persistent tensors of an executor: which are shared, how they begin, how they are saved.
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/layout.h"
#include "runtime/executor/state.h"
#include "runtime/io/initial_files.h"

namespace mxc::executor {
namespace {

std::string described(const plan::Buffer& buffer) {
  return absl::StrCat(ndarray::text(io::shape_of(buffer)), " ", core::dtype_name(buffer.dtype));
}

std::vector<io::ProgramTensor> tensors_of(const State& state) {
  std::vector<io::ProgramTensor> list;
  for (const TensorSlot& slot : state.tensors) list.push_back(slot.tensor);
  return list;
}

}  // namespace

bool same_tensor(const plan::Buffer& a, const plan::Buffer& b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims);
}

bool same_layout(const plan::Buffer& a, const plan::Buffer& b) {
  return a.block_axis == b.block_axis && a.block == b.block && std::equal(a.order, a.order + a.rank, b.order);
}

void State::open_tensors(Here here) {
  std::lock_guard lock(group->mutex);
  for (io::ProgramTensor& tensor : io::program_tensors(view)) {
    const plan::Buffer& buffer = view.buffer(tensor.buffer);
    bool trained = false;
    for (uint64_t i = 0; i < view.header().trainable_count; ++i) trained |= view.parameters()[i] == tensor.buffer;
    SharedTensor* shared = group->find(tensor.name);
    const bool brought = shared == nullptr;
    if (brought) {
      group->tensors.push_back({tensor.name, buffer, place_of(tensor.name, tensor.buffer)});
      shared = &group->tensors.back();
    } else if (!same_tensor(shared->form, buffer)) {
      throw Error(absl::StrCat("executor: '", tensor.name, "' of model '", name, "' is ", described(buffer), ", the one to share is ",
                               described(shared->form)),
                  here);
    }
    Place place = same_layout(shared->form, buffer) ? shared->place : place_of(tensor.name, tensor.buffer);
    tensors.push_back({std::move(tensor), trained, brought, shared, std::move(place)});
  }
  make_parameters(here);
}

void State::make_parameters(Here here) {
  for (const TensorSlot& slot : tensors) {
    NDArray grad;
    for (const GradientSlot& gradient : gradients) {
      const Result& result = results[gradient.result];
      if (slot.trained && result.name == slot.tensor.name) grad = array_of(result.place, view.buffer(result.buffer), 0);
    }
    Parameter parameter{slot.tensor.name, View(array_of(slot.shared->place, slot.shared->form, 0), here), View(std::move(grad), here)};
    (slot.trained ? parameters : kept).push_back(std::move(parameter));
  }
}

void State::relayout(TensorSlot& slot, bool to_shared) {
  Place& from = to_shared ? slot.place : slot.shared->place;
  Place& to = to_shared ? slot.shared->place : slot.place;
  ndarray::begin_write(*to.chunk);
  // Both are written anew: the scratch memory carries the error of whoever used it before.
  group->engine().push({.name = "copy to another layout", .anew = true}, {from.chunk->variable}, {to.chunk->variable, group->scratch().variable()},
                       [self = shared_from_this(), &slot, to_shared]() -> absl::Status {
                         const plan::Buffer &own = self->view.buffer(slot.tensor.buffer), &shared = slot.shared->form;
                         absl::StatusOr<void*> plain = self->group->scratch().get(core::plain_bytes(own, 0));
                         if (!plain.ok()) return plain.status();
                         core::unpack(to_shared ? own : shared, 0, (to_shared ? slot.place : slot.shared->place).memory, *plain);
                         core::pack(to_shared ? shared : own, 0, *plain, (to_shared ? slot.shared->place : slot.place).memory);
                         return absl::OkStatus();
                       });
  slot.copied = slot.shared->place.chunk->version();
}

void State::initialise(uint64_t new_seed, bool shared_too, Here here) {
  seed = new_seed;
  steps = 0;
  const bool has_init = graph_of(Part::init) != plan::kNone;
  bool any = false;
  for (const TensorSlot& slot : tensors) any |= slot.brought || shared_too;
  if (!any) return;
  auto given = io::read_initial_files(view);
  if (!given.ok()) throw Error(absl::StrCat("executor: ", given.status().message()), here);
  std::shared_ptr<GraphPart> init = has_init ? (shared_too ? part(Part::init, here) : make_part(Part::init, true, here)) : nullptr;
  Lock lock(group->mutex);
  for (TensorSlot& slot : tensors) {
    if (!shared_too) continue;  // memory is new, and zero
    group->engine().recover(slot.place.chunk->variable);
    group->engine().recover(slot.shared->place.chunk->variable);
    ndarray::begin_write(*slot.place.chunk);
    group->engine().push({.name = "zero"}, {}, {slot.place.chunk->variable}, [self = shared_from_this(), &slot] {
      std::memset(slot.place.memory, 0, self->view.buffer(slot.tensor.buffer).bytes);
      return absl::OkStatus();
    });
    if (slot.is_copy()) relayout(slot, /*to_shared=*/true);
  }
  if (init != nullptr) run(lock, std::move(init), 1, steps, /*first_values=*/!shared_too);
  last_graph = plan::kNone;
  for (const auto& [buffer, tensor] : *given) {
    for (TensorSlot& slot : tensors) {
      if (slot.tensor.buffer == buffer && (slot.brought || shared_too)) fill(slot, tensor);
    }
  }
}

// Queues the writing of a tensor.
void State::fill(TensorSlot& slot, std::shared_ptr<const io::Tensor> tensor) {
  group->engine().recover(slot.place.chunk->variable);
  if (slot.is_copy()) group->engine().recover(slot.shared->place.chunk->variable);
  ndarray::begin_write(*slot.place.chunk);
  group->engine().push({.name = "load"}, {}, {slot.place.chunk->variable}, [self = shared_from_this(), &slot, tensor = std::move(tensor)] {
    return io::put_tensor(self->view.buffer(slot.tensor.buffer), *tensor, slot.place.memory);
  });
  if (slot.is_copy()) relayout(slot, /*to_shared=*/true);
}

void State::save(const std::string& path, Here here) {
  {
    Lock lock(group->mutex);
    fresh_copies();
  }
  for (const TensorSlot& slot : tensors) {
    absl::Status status = group->engine().wait(slot.place.chunk->variable);
    if (status.ok()) continue;
    reported = true;
    throw Error(absl::StrCat("save: ", slot.tensor.name, ": ", status.message()), here);
  }
  const io::TensorPlace place = [this](const io::ProgramTensor& tensor) -> void* {
    for (const TensorSlot& slot : tensors) {
      if (slot.tensor.name == tensor.name) return slot.place.memory;
    }
    return nullptr;
  };
  io::TensorFile file = io::checkpoint_file(view, tensors_of(*this), place);
  file.metadata["step"] = absl::StrCat(steps);
  file.metadata["seed"] = absl::StrCat(seed);
  if (absl::Status status = io::write_safetensors(path, file); !status.ok()) throw Error(absl::StrCat("save: ", status.message()), here);
}

void State::load(const std::string& path, Here here) {
  auto read = io::read_safetensors(path);
  if (!read.ok()) throw Error(absl::StrCat("load: ", read.status().message()), here);
  auto file = std::make_shared<io::TensorFile>(*std::move(read));
  const std::vector<io::ProgramTensor> list = tensors_of(*this);
  const bool whole = io::check_checkpoint(view, list, path, *file, io::Wanted::everything).ok();
  if (!whole) {
    absl::Status status = io::check_checkpoint(view, list, path, *file, io::Wanted::for_inference);
    if (!status.ok()) throw Error(absl::StrCat("load: ", status.message()), here);
  }
  for (io::Tensor& tensor : file->tensors) {
    if (absl::Status status = tensor.hold(); !status.ok()) throw Error(absl::StrCat("load: ", status.message()), here);
  }
  Lock lock(group->mutex);
  for (TensorSlot& slot : tensors) {
    const io::Tensor* tensor = file->find(slot.tensor.name);
    if (tensor == nullptr || (!whole && slot.tensor.of_optimizer)) continue;
    fill(slot, std::shared_ptr<const io::Tensor>(file, tensor));
  }
  if (!whole) return;
  const auto said = [&](const char* key, uint64_t* value) {
    const auto found = file->metadata.find(key);
    if (found != file->metadata.end()) (void)absl::SimpleAtoi(found->second, value);
  };
  said("step", &steps);
  said("seed", &seed);
}

}  // namespace mxc::executor
