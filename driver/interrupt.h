// Ctrl-C and the like: nothing of mxc stays behind.
#pragma once

namespace mxc::driver {

// From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the program or tool that mxc is waiting for (frontend/stage/process.h), remove
// the temporary folders (WorkDirectory) and then end mxc as the signal would.
void installInterruptHandler();

// A folder to remove when mxc is ended by a signal or crashes: its files, and itself. Returns its number for keepOnSignal; -1 if there
// are too many. Requires: `path` lives until then.
int removeOnSignal(const char* path);
void keepOnSignal(int number);
// Removes them now. Safe in a signal handler.
void removeFoldersOfSignal();

}  // namespace mxc::driver
