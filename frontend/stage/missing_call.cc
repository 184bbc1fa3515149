// The call of a null symbol faults at address 0 with the return address in place: the handler lets the thread go on in the other function, as
// if that had been called. A call by name is told from one through a null pointer by the instruction before the return address.
#include "frontend/stage/missing_call.h"

#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>

namespace mxc::frontend {

namespace {

void (*replacement)() = nullptr;

#if defined(__x86_64__)
// call with a displacement: E8 and four bytes.
bool isCallByName(uintptr_t returns) { return *reinterpret_cast<const unsigned char*>(returns - 5) == 0xe8; }

bool redirect(mcontext_t& machine) {
  if (machine.gregs[REG_RIP] != 0) return false;
  if (!isCallByName(*reinterpret_cast<const uintptr_t*>(machine.gregs[REG_RSP]))) return false;
  machine.gregs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<uintptr_t>(replacement));
  return true;
}
#elif defined(__aarch64__)
// bl.
bool isCallByName(uintptr_t returns) {
  uint32_t instruction;
  std::memcpy(&instruction, reinterpret_cast<const void*>(returns - 4), sizeof instruction);
  return (instruction & 0xfc000000) == 0x94000000;
}

bool redirect(mcontext_t& machine) {
  if (machine.pc != 0 || !isCallByName(machine.regs[30])) return false;
  machine.pc = reinterpret_cast<uintptr_t>(replacement);
  return true;
}
#else
bool redirect(mcontext_t&) { return false; }
#endif

void onFault(int number, siginfo_t*, void* context) {
  if (redirect(static_cast<ucontext_t*>(context)->uc_mcontext)) return;
  signal(number, SIG_DFL);  // the instruction is tried again, and crashes
}

}  // namespace

void onMissingCall(void (*instead)()) {
  replacement = instead;
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace mxc::frontend
