// Reading symbol JSON back into the model that is being described: a small JSON parser on the standard library alone.
//
// The parser makes a tree of values; the reader then checks each field that it uses. Names of loaded nodes must be free in the model.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "frontend/dsl/json.h"

namespace mxc::detail {

namespace {

struct Json {
  enum Kind { null, boolean, number, string, list, object } kind = null;
  bool truth = false;
  double real = 0;
  std::string text;               // of a string; of a number as it was written
  std::vector<Json> items;        // of a list; the values of an object
  std::vector<std::string> keys;  // of an object, in the order of `items`

  const Json* find(const std::string& name) const {
    auto key = std::find(keys.begin(), keys.end(), name);
    return key == keys.end() ? nullptr : &items[key - keys.begin()];
  }
};

// Throws std::string: what is wrong.
class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Json document() {
    Json value = parse(0);
    space();
    if (at_ != text_.size()) fail("text after the document");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw "line " + std::to_string(1 + std::count(text_.begin(), text_.begin() + at_, '\n')) + ": " + what;
  }
  void space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool accept(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  bool word(std::string_view word) {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  Json parse(int depth) {
    if (depth > 50) fail("nested too deeply");
    space();
    Json value;
    if (accept('{')) {
      value.kind = Json::object;
      if (accept('}')) return value;
      do {
        space();
        value.keys.push_back(parseString());
        expect(':');
        value.items.push_back(parse(depth + 1));
      } while (accept(','));
      expect('}');
    } else if (accept('[')) {
      value.kind = Json::list;
      if (accept(']')) return value;
      do value.items.push_back(parse(depth + 1));
      while (accept(','));
      expect(']');
    } else if (at_ < text_.size() && text_[at_] == '"') {
      value.kind = Json::string;
      value.text = parseString();
    } else if (word("true") || word("false")) {
      value.kind = Json::boolean;
      value.truth = text_[at_ - 2] == 'u';
    } else if (!word("null")) {
      parseNumber(value);
    }
    return value;
  }

  void parseNumber(Json& value) {
    value.kind = Json::number;
    const char* begin = text_.data() + at_;
    auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value.real);
    if (error != std::errc()) fail("expected a value");
    value.text.assign(begin, end);
    at_ += end - begin;
  }

  std::string parseString() {
    if (at_ >= text_.size() || text_[at_] != '"') fail("expected a string");
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') {
        out += text_[at_];
        continue;
      }
      if (++at_ >= text_.size()) break;
      constexpr std::string_view kFrom = "nrtbf", kTo = "\n\r\t\b\f";
      size_t simple = kFrom.find(text_[at_]);
      if (text_[at_] == 'u') {
        appendCodePoint(out);
      } else {
        out += simple == std::string_view::npos ? text_[at_] : kTo[simple];
      }
    }
    if (at_ >= text_.size()) fail("a string does not end");
    ++at_;
    return out;
  }

  // \uXXXX, at 'u'. Surrogates become U+FFFD.
  void appendCodePoint(std::string& out) {
    unsigned code = 0;
    const char* begin = text_.data() + at_ + 1;
    if (at_ + 5 > text_.size() || std::from_chars(begin, begin + 4, code, 16).ptr != begin + 4) fail("bad \\u in a string");
    at_ += 4;
    if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    } else {
      out +=
          {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)), static_cast<char>(0x80 | (code & 63))};
    }
  }

  const std::string& text_;
  size_t at_ = 0;
};

// Throws std::string: what is wrong.
class Reader {
 public:
  Reader(Session& session, const Json& document, Here where) : session_(session), document_(document), where_(where) {}

  Group read() {
    if (field(document_, "format", Json::string).text != "mxc-symbol") throw std::string("not symbol JSON");
    if (field(document_, "version", Json::number).text != "1")
      throw std::string("symbol JSON of another version; this one reads 1");
    for (const Json& file : field(document_, "files", Json::list).items) files_.push_back(file.text);
    for (const Json& node : field(document_, "nodes", Json::list).items) readNode(node);
    Group group;
    if (const Json* members = document_.find("group"))
      for (const Json& member : members->items) group.push_back(symbol(member));
    for (const char* list : {"minimize", "reports", "outputs"})
      if (const Json* terminals = document_.find(list))
        for (const Json& terminal : terminals->items) group.push_back(symbol(field(terminal, "value", Json::list)));
    return group;
  }

  void readTerminals() {
    std::pair<const char*, std::vector<Terminal> Session::*> lists[] = {
        {"minimize", &Session::minimize}, {"reports", &Session::reports}, {"outputs", &Session::outputs}};
    for (auto [name, list] : lists)
      if (const Json* terminals = document_.find(name))
        for (const Json& terminal : terminals->items) {
          const Json* own = terminal.find("name");
          (session_.*list).push_back({own ? own->text : "", edge(field(terminal, "value", Json::list)), {}, {}});
        }
  }

 private:
  static const Json& field(const Json& object, const std::string& name, Json::Kind kind) {
    const Json* found = object.find(name);
    if (!found || found->kind != kind) throw "a field '" + name + "' is missing or of the wrong kind";
    return *found;
  }

  static int64_t integer(const Json& json) {
    int64_t value = 0;
    const char* end = json.text.data() + json.text.size();
    if (json.kind != Json::number || std::from_chars(json.text.data(), end, value).ptr != end)
      throw "expected an integer, found " + json.text;
    return value;
  }

  Edge edge(const Json& json) const {
    if (json.kind != Json::list || json.items.size() != 2) throw std::string("expected [node, result]");
    int64_t node = integer(json.items[0]), result = integer(json.items[1]);
    if (node < 0 || node >= static_cast<int64_t>(nodes_.size()))
      throw "there is no node " + std::to_string(node) + " before this one";
    int32_t mapped = nodes_[node];
    if (result < 0 || result >= session_.graph->nodes[mapped].results)
      throw "node " + std::to_string(node) + " has no result " + std::to_string(result);
    return {mapped, static_cast<int32_t>(result)};
  }

  Symbol symbol(const Json& json) const {
    Edge e = edge(json);
    return {session_.graph, e.node, e.result};
  }

  static Value value(const std::string& name, const Json& json) {
    if (json.kind == Json::boolean) return json.truth;
    if (json.kind == Json::string) return json.text;
    if (json.kind == Json::number) {
      bool whole = json.text.find_first_of(".eE") == std::string::npos;
      if (whole && name != "lr_mult" && name != "wd_mult") return integer(json);
      return json.real;
    }
    if (json.kind != Json::list) throw "attribute '" + name + "' has a value of no known kind";
    if (name == "init_args") {
      std::vector<double> reals;
      for (const Json& item : json.items) reals.push_back(item.real);
      return reals;
    }
    std::vector<int64_t> integers;
    for (const Json& item : json.items) integers.push_back(integer(item));
    return integers;
  }

  void readNode(const Json& json) {
    Node node;
    node.op = field(json, "op", Json::string).text;
    node.name = session_.scope + field(json, "name", Json::string).text;
    node.where = where_;
    node.place = where_;
    if (const Json* place = json.find("at"); place && place->items.size() == 3) {
      size_t file = integer(place->items[0]);
      if (file < files_.size()) node.place.file = files_[file];
      node.place.line = integer(place->items[1]);
      node.place.column = integer(place->items[2]);
    }
    const Json& attributes = field(json, "attributes", Json::object);
    for (size_t i = 0; i < attributes.keys.size(); ++i)
      node.attributes.emplace_back(attributes.keys[i], value(attributes.keys[i], attributes.items[i]));
    const Json& inputs = field(json, "inputs", Json::object);
    for (size_t i = 0; i < inputs.keys.size(); ++i) node.inputs.push_back(readInput(inputs.keys[i], inputs.items[i]));
    if (const Json* results = json.find("results")) node.results = static_cast<int32_t>(integer(*results));
    node.recompute = session_.recompute;
    if (const Json* recompute = json.find("recompute")) {
      auto [number, isNew] = recomputes_.try_emplace(integer(*recompute), session_.recomputes);
      if (isNew) ++session_.recomputes;
      node.recompute = number->second;
    }
    claimName(*session_.graph, node.name, where_);
    nodes_.push_back(append(session_, std::move(node)));
  }

  NodeInput readInput(const std::string& operand, const Json& json) const {
    NodeInput input{operand, false, {}};
    if (json.kind == Json::null) return input;
    input.variadic = json.kind == Json::list && (json.items.empty() || json.items[0].kind == Json::list);
    if (!input.variadic) {
      input.edges.push_back(edge(json));
      return input;
    }
    for (const Json& item : json.items) input.edges.push_back(edge(item));
    return input;
  }

  Session& session_;
  const Json& document_;
  Here where_;
  std::vector<std::string> files_;
  std::vector<int32_t> nodes_;             // of the document, in the session's graph
  std::map<int64_t, int64_t> recomputes_;  // their numbers in the document, and in the session
};

}  // namespace

Group readGroup(Session& session, const std::string& text, const std::string& path, Here where) {
  try {
    Json document = Parser(text).document();
    return Reader(session, document, where).read();
  } catch (const std::string& what) {
    throw ModelError("'" + path + "': " + what, where);
  }
}

void readModel(Session& session, const std::string& text) {
  try {
    Json document = Parser(text).document();
    Reader reader(session, document, Here::current());
    reader.read();
    reader.readTerminals();
  } catch (const std::string& what) {
    throw ModelError(what, Here::current());
  }
}

}  // namespace mxc::detail

namespace mxc {

Group load(const std::string& path, Here where) {
  detail::Session& session = detail::session(where);
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) throw ModelError("cannot read '" + path + "'", where);
  session.loaded.push_back(path);
  return detail::readGroup(session, text.str(), path, where);
}

}  // namespace mxc
