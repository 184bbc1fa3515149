// mxc keygen: makes the keys of a job, for launchers that are not mxc's.
#include <CLI/CLI.hpp>

#include "driver/command_line.h"
#include "driver/diagnostics.h"
#include "driver/verbs.h"
#include "runtime/kv/keys.h"

namespace mxc::driver {

void addKeygenVerb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "keygen", "Make the keys of a job of several machines: whoever has the file may take part. Its processes find it by MXC_KEYS=FILE");
  auto path = std::make_shared<std::string>();
  auto color = std::make_shared<Color>(Color::automatic);
  verb->add_option("file", *path, "The file to make, which its owner alone may read; one that is there is left as it is")->type_name("FILE")->required();
  addColor(*verb, *color);
  verb->callback([path, color, &exit_code] {
    DiagnosticPrinter printer(*color);
    const absl::StatusOr<kv::JobKeys> keys = kv::make_keys();
    const absl::Status status = keys.ok() ? kv::write_keys(*path, *keys) : keys.status();
    if (!status.ok()) printer.error(status);
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver
