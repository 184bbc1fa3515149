// What the functions of an embedded library return. The compiler writes these names and texts into the library's header, too.
#pragma once

namespace mxc::embed {

enum class Status : int {
  ok,
  null_pointer,
  misaligned,
  arena_too_small,
  wrong_batch,
  out_of_range,
  too_short,
  other_build,
  no_context,
  out_of_memory,
  no_weights,
  weights_unreadable,
  weights_truncated,
  weights_other_version,
  weights_other_model,
  weights_damaged,
  no_set,
  bad_hyper,
  state_truncated,
  state_other_version,
  state_other_model,
  state_damaged,
};

struct StatusName {
  const char* name;  // with the library's prefix in front: LENET_NULL_POINTER
  const char* text;
};

// By number.
constexpr StatusName kStatusNames[] = {
    {"OK", "all is well"},
    {"NULL_POINTER", "a pointer is null that must not be"},
    {"MISALIGNED", "memory is not aligned as its type, an arena's as the library's header says"},
    {"ARENA_TOO_SMALL", "the arena has fewer bytes than the library's header says"},
    {"WRONG_BATCH", "the number of samples is not between 1 and the largest that the library was compiled for"},
    {"OUT_OF_RANGE", "an integer of an input is outside of what the model accepts"},
    {"TOO_SHORT", "a span has fewer elements than the samples take"},
    {"OTHER_BUILD", "the header belongs to another build of the library"},
    {"NO_CONTEXT", "this is no context of this library"},
    {"OUT_OF_MEMORY", "there is not enough memory"},
    {"NO_WEIGHTS", "the context has no weights yet"},
    {"WEIGHTS_UNREADABLE", "the weight file cannot be opened or mapped"},
    {"WEIGHTS_TRUNCATED", "the weight file ends early"},
    {"WEIGHTS_OTHER_VERSION", "this is no weight file of this version of mxc"},
    {"WEIGHTS_OTHER_MODEL", "the weights are those of another model"},
    {"WEIGHTS_DAMAGED", "the weights are damaged: they do not match their checksum"},
    {"NO_SET", "the library has no set of sizes of that number"},
    {"BAD_HYPER", "a hyper-parameter cannot have such a value"},
    {"STATE_TRUNCATED", "the memory for the state of training is too small, or the state ends early"},
    {"STATE_OTHER_VERSION", "this is no state of training of this version of mxc"},
    {"STATE_OTHER_MODEL", "the state is of another model, of other trained layers, or goes with other weights"},
    {"STATE_DAMAGED", "the state is damaged: it does not match its checksum"},
};
constexpr int kStatusCount = sizeof kStatusNames / sizeof kStatusNames[0];
static_assert(kStatusCount == static_cast<int>(Status::state_damaged) + 1);

}  // namespace mxc::embed
