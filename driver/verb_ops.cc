// mxc ops: the operations of the DSL, from the same table that the importer reads.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "driver/command_line.h"
#include "driver/diagnostics.h"
#include "driver/verbs.h"
#include "frontend/import/op_schema.h"
#include "frontend/nearest.h"

namespace mxc::driver {

namespace {

using frontend::Arity;
using frontend::AttributeKind;
using frontend::OpSchema;
using frontend::Role;

const char* kindName(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer: return "integer";
    case AttributeKind::real: return "number";
    case AttributeKind::boolean: return "bool";
    case AttributeKind::string: return "string";
    case AttributeKind::dtype: return "dtype";
    case AttributeKind::size2: return "size or {height, width}";
    case AttributeKind::ints: return "integers";
    case AttributeKind::reals: return "numbers";
    case AttributeKind::choice: return "one of";
  }
  return "";
}

void printDetails(const OpSchema& op) {
  std::cout << op.function << ": " << op.summary << "\n";
  if (!op.description.empty()) std::cout << op.description << "\n";
  for (const auto& operand : op.operands) {
    static constexpr const char* kRoles[] = {"tensor", "parameter", "state"};
    static constexpr const char* kArities[] = {"", ", optional", ", one or more"};
    std::cout << "  " << operand.name << ": " << kRoles[static_cast<int>(operand.role)] << kArities[static_cast<int>(operand.arity)]
              << "\n";
  }
  for (const auto& attribute : op.attributes) {
    std::cout << "  ." << attribute.name << ": " << kindName(attribute.kind);
    for (std::string_view choice : attribute.choices) std::cout << " \"" << choice << "\"";
    if (!attribute.default_text.empty()) std::cout << " = " << attribute.default_text;
    std::cout << (attribute.required ? ", must be given\n" : "\n");
  }
}

}  // namespace

void addOpsVerb(CLI::App& app, int& exit_code) {
  struct State {
    std::string name;
    Color color = Color::automatic;
  };
  auto state = std::make_shared<State>();
  CLI::App* verb = app.add_subcommand("ops", "List the operations of the DSL, or show one");
  verb->add_option("name", state->name, "An operation")->type_name("NAME");
  addColor(*verb, state->color);
  verb->callback([state, &exit_code] {
    const std::string& name = state->name;
    bool found = false;
    std::vector<std::string> names;
    std::vector<const OpSchema*> ops;
    for (const OpSchema& op : frontend::opSchemas()) ops.push_back(&op);
    std::sort(ops.begin(), ops.end(), [](const OpSchema* a, const OpSchema* b) { return a->function < b->function; });
    for (const OpSchema* op : ops) {
      names.emplace_back(op->function);
      if (name.empty())
        std::cout << op->function << std::string(op->function.size() < 24 ? 24 - op->function.size() : 1, ' ') << op->summary << "\n";
      if (op->function != name) continue;
      printDetails(*op);
      found = true;
    }
    if (name.empty() || found) return;
    DiagnosticPrinter printer(state->color);
    printer.error(frontend::Fault::usage, "there is no operation '" + name + "'" + frontend::didYouMean(name, names));
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver
