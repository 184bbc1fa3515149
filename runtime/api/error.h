// What imperative code throws when it is used wrongly, or when an operation that was queued has failed.
#pragma once

#include <stdexcept>
#include <string>

#include "mxc/dtype.h"

namespace mxc {

// what(): "train.cpp:12:7: add: shapes {2, 3} and {4} do not broadcast". The place is the line of the call; for a queued operation that
// failed, the line that reads its result. The text alone is `message`.
class Error : public std::runtime_error {
 public:
  Error(const std::string& message, Here where)
      : std::runtime_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ":" + std::to_string(where.column()) +
                           ": " + message),
        message(message),
        where(where) {}
  std::string message;
  Here where;
};

}  // namespace mxc
