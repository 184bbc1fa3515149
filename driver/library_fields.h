// The inputs and outputs of an embedded library as its headers show them.
// Their names are identifiers (c_names.h), told apart by '_' behind them, also where capitals alone do: the macros of their sizes are in capitals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/library_header.h"
#include "runtime/core/plan_view.h"

namespace mxc::driver {

struct Field {
  std::string name, type, note;  // "image", "float", "f32 [n, 1, 28, 28]"
  std::string size;              // the macro that says how many elements: "{P}_INPUT_IMAGE_ELEMENTS"
  int64_t elements;              // of a sample if samples lie one after another, else of all
  bool by_sample;
};

// What a graph takes and gives, in the model's order; outputs are those that a caller gets: new values of what lies in the context are none.
struct Fields {
  std::vector<Field> inputs, outputs;
};
Fields inferenceFields(const core::PlanView& view);
Fields trainingFields(const core::PlanView& view);  // Requires: the library trains.

// A structure of pointers to such fields, in C; `name` without the prefix.
std::string structOf(const std::string& name, const std::vector<Field>& fields, bool input);

// The same of spans, in C++.
std::string spanStructOf(const std::string& name, const std::vector<Field>& fields, bool input);

// A member of the C++ class that checks its spans and calls the C function {p}_`verb`. `kind`: what stands before the names of the structures,
// "" or "train_"; `otherwise`: the default of n, as " = 1".
std::string spanCall(const std::string& verb, const std::string& kind, const Fields& fields, const std::string& otherwise);
// The same for {p}_`verb`_set, which is told its set; empty if the library has one alone. `of`: what the set's graph takes and gives.
std::string spanCallOfSet(const HeaderFacts& facts, const std::string& verb, const std::string& kind, Fields (*of)(const core::PlanView&));

// "BATCH_8_LENGTH_16".
std::string setName(const SizeSet& set);

// "#define {P}_NAME value  /* note */".
std::string define(const std::string& name, const std::string& value, const std::string& note);

// `text` with {p}, {P}, {n}, {file}, {FILE} and {library} replaced; {n} is the C++ namespace.
std::string filled(std::string text, const HeaderFacts& facts);

}  // namespace mxc::driver
