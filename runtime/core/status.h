// Status: a code and a text, by value, without allocation or exceptions, for the core that embedded libraries take along.
#pragma once

#include <cstdint>

namespace mxc::core {

enum class Code : uint8_t {
  ok,
  corrupt_plan,      // the blob is not a valid Plan of this version
  invalid_argument,  // the caller asked for something the Plan does not have
  out_of_memory,
  unsupported,       // valid, but not on this machine or in this build
  stopped,           // an observer stopped the run
};

struct [[nodiscard]] Status {
  static constexpr int kTextBytes = 240;

  Code code = Code::ok;
  char text[kTextBytes];  // NUL-terminated, one line, cut if longer; empty if ok

  Status() { text[0] = '\0'; }
  bool ok() const { return code == Code::ok; }
};

// A status with a printf-formatted text.
Status error(Code code, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace mxc::core
