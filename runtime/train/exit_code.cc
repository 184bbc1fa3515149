// See exit_code.h.
#include "runtime/train/exit_code.h"

namespace mxc::train {

int exit_code(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk: return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kResourceExhausted: return kExitUserError;
    case absl::StatusCode::kUnimplemented: return kExitUnsupported;
    default: return kExitInternal;
  }
}

absl::Status from_core(const core::Status& status) {
  switch (status.code) {
    case core::Code::ok: return absl::OkStatus();
    case core::Code::invalid_argument: return absl::InvalidArgumentError(status.text);
    case core::Code::out_of_memory: return absl::ResourceExhaustedError(status.text);
    case core::Code::unsupported: return absl::UnimplementedError(status.text);
    case core::Code::corrupt_plan:
    case core::Code::stopped: return absl::InternalError(status.text);
  }
  return absl::InternalError(status.text);
}

}  // namespace mxc::train
