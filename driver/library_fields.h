// The inputs and outputs of an embedded library as its headers show them.
#pragma once

#include <cstdint>
#include <span>
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

// `name` as an identifier of C and C++: other characters become '_', a keyword gets one behind it.
std::string cIdentifier(const std::string& name);

// In the model's order; `kind` is INPUT or OUTPUT. Names that would be the same are told apart by '_' behind them.
std::vector<Field> fieldsOf(const core::PlanView& view, std::span<const plan::Binding> bindings, const std::string& kind);

// Those outputs that a caller gets: new values of what lies in the context are none.
std::vector<plan::Binding> deliveredOutputs(const core::PlanView& view, const plan::Graph& graph);

// A structure of pointers to such fields, in C; `name` without the prefix.
std::string structOf(const std::string& name, const std::vector<Field>& fields, bool input);

// The same of spans, in C++; lines that refuse spans of a `struct_name` which are too short (an output's may be empty); each field's name
// between `before` and `behind`, or nullptr if there is none.
std::string spanStructOf(const std::string& name, const std::vector<Field>& fields, bool input);
std::string spanChecks(const std::vector<Field>& fields, const std::string& struct_name, bool input);
std::string listedFields(const std::vector<Field>& fields, const std::string& before, const std::string& behind);

// "#define {P}_NAME value  /* note */".
std::string define(const std::string& name, const std::string& value, const std::string& note);

// `text` with {p}, {P}, {file}, {FILE} and {library} replaced.
std::string filled(std::string text, const HeaderFacts& facts);

}  // namespace mxc::driver
