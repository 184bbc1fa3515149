// The text of a Status is formatted here, the only place that needs stdio.
#include "runtime/core/status.h"

#include <cstdarg>
#include <cstdio>

namespace mxc::core {

Status error(Code code, const char* format, ...) {
  Status status;
  status.code = code;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(status.text, Status::kTextBytes, format, arguments);
  va_end(arguments);
  return status;
}

}  // namespace mxc::core
