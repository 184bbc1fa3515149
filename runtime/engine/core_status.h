// core::Status as absl::Status, for everything above the core.
#pragma once

#include "absl/status/status.h"
#include "runtime/core/status.h"

namespace mxc::engine {

inline absl::Status from_core(const core::Status& status) {
  switch (status.code) {
    case core::Code::ok: return absl::OkStatus();
    case core::Code::corrupt_plan: return absl::DataLossError(status.text);
    case core::Code::invalid_argument: return absl::InvalidArgumentError(status.text);
    case core::Code::out_of_memory: return absl::ResourceExhaustedError(status.text);
    case core::Code::unsupported: return absl::UnimplementedError(status.text);
    case core::Code::stopped: return absl::CancelledError(status.text);
  }
  return absl::UnknownError(status.text);
}

}  // namespace mxc::engine
