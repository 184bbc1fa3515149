#!/usr/bin/env python3
"""Makes from the operations' definitions (ir/ops/*.td) what the frontend must know of them.

Input: the JSON that `llvm-tblgen --dump-json` makes of the definitions. Output, each one file:
  --header   mxc/ops.h: an attribute struct and a function for each operation with `dsl = 1`
  --source   ops.cc: the functions' bodies, calls of NodeBuilder (frontend/dsl/graph.h)
  --schema   op_schema.cc: the table of frontend/import/op_schema.h, for the importer and `mxc ops`
The support classes that are understood (Mx_Tensor, Mx_Size2Attr, ...) stand in ir/mx.td.
"""
import argparse
import json
import re
import sys

# Attribute kinds of the definitions: kind in the schema, C++ type with a default, C++ type when it must be given.
ATTRIBUTES = {
    "Mx_Size2Attr": ("size2", "Size2", "Size2"),
    "Mx_Choice": ("choice", "std::string", "std::string"),
    "DenseI64ArrayAttr": ("ints", "Ints", "Ints"),
    "DenseF64ArrayAttr": ("reals", "std::vector<double>", "std::vector<double>"),
    "I64Attr": ("integer", "int64_t", "Attribute<int64_t>"),
    "F64Attr": ("real", "double", "Attribute<double>"),
    "BoolAttr": ("boolean", "bool", "Attribute<bool>"),
    "StrAttr": ("string", "std::string", "Attribute<std::string>"),
    "TypeAttr": ("dtype", "DType", "Attribute<DType>"),
}
ROLES = {"Mx_Tensor": "tensor", "AnyTensor": "tensor", "Mx_Param": "parameter", "Mx_State": "state"}


class Operand:
    """One operand: name, role (tensor, parameter, state), arity (one, optional, variadic)."""

    def __init__(self, records, name, record):
        self.name, self.arity = name, "one"
        for cls, arity in (("Optional", "optional"), ("Variadic", "variadic")):
            if cls in record["!superclasses"]:
                self.arity, record = arity, records[record["baseType"]["def"]]
        self.role = ROLES.get(record["!name"], "tensor")


class Attribute:
    """One attribute: name, kind, whether it must be given, its default as C++ text, its choices."""

    def __init__(self, records, op, name, record):
        self.name, self.default, self.optional, self.choices = name, None, False, []
        while True:
            classes = record["!superclasses"]
            if record["!name"] in ATTRIBUTES:
                key = record["!name"]
                break
            if "Mx_Choice" in classes:
                key, self.choices = "Mx_Choice", record["choices"]
                break
            if "DefaultValuedAttr" in classes or "DefaultValuedOptionalAttr" in classes:
                self.default = record["defaultValue"]
            elif "OptionalAttr" in classes:
                self.optional = True
            elif "ConfinedAttr" not in classes:
                sys.exit(f"{op}: attribute '{name}' has the kind {record['!name']}, which the DSL does not know")
            record = records[record["baseAttr"]["def"]]
        self.kind, self.plain_type, self.required_type = ATTRIBUTES[key]

    @property
    def required(self):
        return self.default is None and not self.optional

    def field(self):
        """The member of the attribute struct."""
        if self.default is None:
            return f"{self.required_type if not self.choices else self.plain_type} {self.name} = {{}};"
        value = self.default
        if self.kind in ("string", "choice"):
            value = json.dumps(value.strip('"'))
        elif self.kind == "ints":
            value = "Ints(std::vector<int64_t>%s)" % (value if value.startswith("{") else "{%s}" % value)
        return f"{self.plain_type} {self.name} = {value};"


class Op:
    def __init__(self, records, record):
        self.name = record["opName"]
        self.function = record.get("dslName") or self.name
        self.dsl = bool(record.get("dsl"))
        self.summary = " ".join(record["summary"].split())
        self.description = "\n".join(line.strip() for line in record["description"].strip().splitlines())
        self.operands, self.attributes = [], []
        for argument, name in record["arguments"]["args"]:
            argument = records[argument["def"]]
            if "TypeConstraint" in argument["!superclasses"]:
                self.operands.append(Operand(records, name, argument))
            elif self.dsl:
                self.attributes.append(Attribute(records, self.name, name, argument))
        self.results = [name or "output" for _, name in record["results"]["args"]]
        self.shown = self.results[: record.get("dslResults", 1)]  # the others serve the gradient alone
        self.count = record.get("dslCount", "")  # the attribute that says how many results there are
        self.segments = any(t["def"] == "AttrSizedOperandSegments" for t in record["traits"])
        self.inits = dict(item.split("=", 1) for item in record.get("dslInits", []))
        self.present = dict(item.split("=", 1) for item in record.get("dslOptional", []))
        self.struct = "".join(part.capitalize() for part in self.function.split("_"))

    def init(self, operand):
        """The default initialiser of a parameter or state, as a call of a function of mxc/parameter.h."""
        init = self.inits.get(operand.name)
        if init is None:
            sys.exit(f"{self.name}: dslInits says nothing of '{operand.name}'")
        return init if init.endswith(")") else init + "()"

    def result_type(self):
        if self.count:
            return "std::vector<Symbol>"
        return "Symbol" if len(self.shown) == 1 else self.struct + "Results"

    def signature(self, with_defaults):
        parameters = []
        for operand in self.operands:
            if operand.role == "tensor" and operand.arity != "optional":
                kind = "std::vector<Symbol>" if operand.arity == "variadic" else "Operand"
                parameters.append(f"const {kind}& {operand.name}")
        parameters.append(f"const {self.struct}& attributes" + (" = {}" if with_defaults else ""))
        parameters.append("Here here" + (" = Here::current()" if with_defaults else ""))
        return f"{self.result_type()} {self.function}({', '.join(parameters)})"

    def declaration(self):
        lines = comment(self.summary) + (["//"] + comment(self.description) if self.description else [])
        lines.append(f"struct {self.struct} {{")
        for attribute in self.attributes:
            note = "  // must be given" if attribute.required else ""
            note = f"  // {' | '.join(attribute.choices)}" if attribute.choices else note
            lines.append(f"  {attribute.field()}{note}")
        for operand in self.operands:
            if operand.role == "tensor" and operand.arity == "optional":
                lines.append(f"  Symbol {operand.name} = {{}};")
            elif operand.role != "tensor" and operand.arity == "optional":
                lines.append(f"  OptionalParam {operand.name} = {self.present.get(operand.name, 'true')};")
            elif operand.role != "tensor":
                lines.append(f"  Param {operand.name} = {{}};")
        lines += ["  std::string name = {};", "};"]
        if len(self.shown) > 1:
            lines += [f"struct {self.struct}Results {{", *(f"  Symbol {name};" for name in self.shown), "};"]
        return lines + [self.signature(True) + ";", ""]

    def body(self):
        lines = [self.signature(False) + " {", f'  detail::NodeBuilder node("{self.name}", attributes.name, here);']
        for operand in self.operands:
            name = operand.name
            if operand.role == "tensor":
                verb = {"one": "operand", "optional": "optionalOperand", "variadic": "operands"}[operand.arity]
                source = f"attributes.{name}" if operand.arity == "optional" else name
                lines.append(f'  node.{verb}("{name}", {source});')
            else:
                lines.append(f'  node.{operand.role}("{name}", attributes.{name}, {self.init(operand)});')
        for attribute in self.attributes:
            name = attribute.name
            if attribute.choices:
                choices = ", ".join(json.dumps(choice) for choice in attribute.choices)
                lines.append(f'  node.choice("{name}", attributes.{name}, {{{choices}}});')
            elif attribute.optional:
                lines.append(f'  node.optionalAttribute("{name}", attributes.{name});')
            elif attribute.required or attribute.kind in ("size2", "ints"):
                lines.append(f'  node.attribute("{name}", attributes.{name});')
            else:
                lines.append(f'  node.attribute("{name}", detail::Value(attributes.{name}));')
        if self.count:
            lines.append(f'  return node.finishSeveral("{self.count}", attributes.{self.count}.value());')
            return lines + ["}", ""]
        lines.append(f"  node.finish({len(self.results)});")
        if len(self.shown) == 1:
            lines.append("  return node.result(0);")
        else:
            lines.append("  return {" + ", ".join(f"node.result({i})" for i in range(len(self.shown))) + "};")
        return lines + ["}", ""]

    def schema(self):
        def text(value):
            return json.dumps(value, ensure_ascii=False)

        operands = ", ".join(f"{{{text(o.name)}, Role::{o.role}, Arity::{o.arity}}}" for o in self.operands)
        attributes = ", ".join(
            f"{{{text(a.name)}, AttributeKind::{a.kind}, {str(a.required).lower()}, {text(a.default or '')}, "
            f"{{{', '.join(text(c) for c in a.choices)}}}}}" for a in self.attributes)
        results = ", ".join(text(r) for r in self.results)
        return [f"    {{{text(self.name)}, {text(self.function)}, {text(self.summary)}, {text(self.description)},",
                f"     {{{operands}}},", f"     {{{attributes}}},", f"     {{{results}}}, {str(self.segments).lower()}, {text(self.count)}}},"]


def comment(text):
    return ["// " + line if line else "//" for line in text.splitlines()]


def read_ops(path):
    with open(path, encoding="utf-8") as file:
        records = json.load(file)
    names = records["!instanceof"].get("Mx_Op", [])
    ops = [Op(records, records[name]) for name in names]
    return sorted((op for op in ops if op.dsl), key=lambda op: op.name)


def write(path, lines):
    text = re.sub(r"[ \t]+\n", "\n", "\n".join(lines) + "\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--json", "--header", "--source", "--schema"):
        arguments.add_argument(name, required=True)
    arguments = arguments.parse_args()
    ops = read_ops(arguments.json)
    made = "made by scripts/gen_dsl.py from ir/ops/*.td; edit those."
    header = [f"// The operations of the DSL: {made}", "// Attributes are named in the order of their struct.", "#pragma once", "",
              '#include "mxc/parameter.h"', "", "namespace mxc {", ""]
    source = [f"// Bodies of the DSL's operations: {made}", '#include "mxc/ops.h"', "", '#include "frontend/dsl/graph.h"', "",
              "namespace mxc {", ""]
    schema = [f"// What the importer must know of each operation: {made}", '#include "frontend/import/op_schema.h"', "",
              "namespace mxc::frontend {", "", "std::span<const OpSchema> opSchemas() {", "  static const std::vector<OpSchema> ops = {"]
    for op in ops:
        header += op.declaration()
        source += op.body()
        schema += op.schema()
    write(arguments.header, header + ["}  // namespace mxc"])
    write(arguments.source, source + ["}  // namespace mxc"])
    write(arguments.schema, schema + ["  };", "  return ops;", "}", "", "}  // namespace mxc::frontend"])


if __name__ == "__main__":
    main()
