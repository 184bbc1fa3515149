// Symbol JSON out of a session's graph (docs/symbol-json.md specifies the format), and back into one.
#pragma once

#include <string>
#include <vector>

#include "frontend/dsl/graph.h"

namespace mxc::detail {

// `text` as a JSON string literal. Bytes that are not UTF-8 become U+FFFD.
std::string jsonString(const std::string& text);
// Shortest decimal that reads back as `number`; infinities and NaN as the strings "inf", "-inf", "nan".
std::string jsonNumber(double number);

// The whole model.
std::string writeModel(const Session& session);
// The nodes that `group` depends on, with "group" naming its members; no model, losses or outputs.
std::string writeGroup(const Group& group);
// Adds the nodes of a document written by writeGroup or writeModel to the session's graph.
// Returns the group's members (of a model: its losses, reports and outputs). Throws ModelError at `where`.
Group readGroup(Session& session, const std::string& text, const std::string& path, Here where);

// Adds the nodes of a model and what becomes of them (losses, reports, outputs) to an empty session. Throws ModelError.
void readModel(Session& session, const std::string& text);
// Throws ModelError at `where` unless all members are of one model: "save is given ...".
void checkGroup(const Group& group, const char* verb, Here where);

}  // namespace mxc::detail
