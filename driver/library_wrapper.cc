// The C++ header of an embedded library: spans whose sizes are looked at, and a context that ends with its owner.
#include "driver/library_fields.h"
#include "driver/library_header.h"
#include "driver/library_training.h"

namespace mxc::driver {

namespace {

constexpr const char* kTop = R"(// {file}.hpp: C++17 over {file}.h.
//
//   {n}::model net;
//   int status = net.run({inputs}, {outputs}, 1);
#ifndef {FILE}_HPP_
#define {FILE}_HPP_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "{file}.h"

namespace {n} {

// Numbers in a row that somebody else owns: a pointer and a count, an array, or anything with data() and size().
template <typename T>
class span {
 public:
  constexpr span() = default;
  constexpr span(T* data, std::size_t size) : data_(data), size_(size) {}
  template <std::size_t kSize>
  constexpr span(T (&array)[kSize]) : data_(array), size_(kSize) {}
  template <typename Container, typename = decltype(static_cast<T*>(std::declval<Container&>().data()))>
  constexpr span(Container&& container) : data_(container.data()), size_(container.size()) {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

)";

constexpr const char* kWeights = R"(
// {file}.weights in memory, mapped as long as this lives.
class weights {
 public:
  explicit weights(const char* path) { status_ = {p}_map_weights(path, &file_, &bytes_); }
  weights(const weights&) = delete;
  weights& operator=(const weights&) = delete;
  ~weights() { {p}_unmap_weights(file_, bytes_); }

  int status() const { return status_; }
  const void* file() const { return file_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const void* file_ = nullptr;
  std::size_t bytes_ = 0;
  int status_ = {P}_OK;
};
)";

constexpr const char* kUseWeights = R"(
  // A model runs after one of these alone. See {p}_set_weights, {p}_share_weights.
  int use(const void* file, std::size_t bytes) { return {p}_set_weights(context_, file, bytes); }
  int share(const model& other) { return {p}_share_weights(context_, other.context_); }
)";

constexpr const char* kUseMappedWeights = "  int use(const weights& mapped) { return use(mapped.file(), mapped.bytes()); }\n";

constexpr const char* kModel = R"(
// A context and whoever owns it. One thread at a time.
class model {
 public:
{create}  // In memory of the caller's, which outlives this: {P}_ARENA_BYTES bytes aligned to {P}_ALIGN.
  model(void* arena, std::size_t bytes) { status_ = {p}_open(arena, bytes, {P}_BUILD, &context_); }
  // What was moved from has no context: {P}_NULL_POINTER is its status, and what its functions return.
  model(model&& other) noexcept : context_(std::exchange(other.context_, nullptr)), status_(std::exchange(other.status_, {P}_NULL_POINTER)) {}
  model& operator=(model&& other) noexcept {
    model taken(std::move(other));
    std::swap(context_, taken.context_);
    std::swap(status_, taken.status_);
    return *this;
  }
{destroy}
  // How making it went. After an error every run returns {P}_NULL_POINTER.
  int status() const { return status_; }
  {p}_context* context() const { return context_; }
{use}
  // See {p}_set_pool.
  int use(const {p}_pool* pool) { return {p}_set_pool(context_, pool); }
{run}{training}
 private:
  {p}_context* context_ = nullptr;
  int status_ = {P}_OK;
};

}  // namespace {n}

#endif  // {FILE}_HPP_
)";

constexpr const char* kCreate = R"(  // In memory of its own.
  model() { status_ = {p}_allocate({P}_BUILD, &context_); }
)";

void replace(std::string& text, const std::string& mark, const std::string& value) { text.replace(text.find(mark), mark.size(), value); }

}  // namespace

std::string libraryWrapper(const HeaderFacts& facts) {
  const Fields fields = inferenceFields(facts.plan());
  auto listed = [](const std::vector<Field>& list) {
    std::string text;
    for (const Field& field : list) text += (text.empty() ? "" : ", ") + field.name;
    return "{" + text + "}";
  };
  std::string text = kTop + spanStructOf("inputs", fields.inputs, true) + spanStructOf("outputs", fields.outputs, false);
  if (facts.trains()) text += trainingStructs(facts);
  bool mapped = facts.hosted && facts.weights_beside;
  if (mapped) text += kWeights;
  text += kModel;
  replace(text, "{use}", facts.weights_beside ? std::string(kUseWeights) + (mapped ? kUseMappedWeights : "") : "");
  replace(text, "{inputs}", listed(fields.inputs));
  replace(text, "{outputs}", listed(fields.outputs));
  replace(text, "{create}", facts.hosted ? kCreate : "");
  replace(text, "{destroy}", facts.hosted ? "  ~model() { {p}_destroy(context_); }\n" : "");
  replace(text, "{run}", spanCall("run", "", fields, " = 1") + spanCallOfSet(facts, "run", "", inferenceFields));
  replace(text, "{training}", facts.trains() ? trainingMembers(facts) : "");
  return filled(text, facts);
}

}  // namespace mxc::driver
