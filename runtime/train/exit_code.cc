// See exit_code.h.
#include "runtime/train/exit_code.h"

namespace mxc::train {

int exit_code(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk: return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted: return kExitUserError;
    case absl::StatusCode::kUnimplemented: return kExitUnsupported;
    default: return kExitInternal;
  }
}

}  // namespace mxc::train
