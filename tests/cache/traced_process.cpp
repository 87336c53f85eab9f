#include "traced_process.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

namespace wavejit::test {
namespace {

bool concerns_files(uint64_t number) {
  switch (number) {
    case SYS_open:
    case SYS_openat:
    case SYS_creat:
    case SYS_read:
    case SYS_pread64:
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_close:
    case SYS_stat:
    case SYS_lstat:
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_access:
    case SYS_mkdir:
    case SYS_mkdirat:
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_link:
    case SYS_linkat:
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_flock:
    case SYS_getdents64:
    case SYS_getrandom:
    case SYS_utimensat:
    case SYS_lseek:
      return true;
    default:
      return false;
  }
}

bool is_incident(Incident::What what, bool entering) {
  switch (what) {
    case Incident::What::kill_before:
    case Incident::What::error:
      return entering;
    case Incident::What::kill_after:
      return !entering;
    case Incident::What::none:
      break;
  }
  return false;
}

}  // namespace

TracedEnd run_traced(const Incident& incident, const std::function<int()>& body) {
  constexpr int kUntraceable = 113;
  TracedEnd end;
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kUntraceable);
    raise(SIGSTOP);
    try {
      _exit(body());
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      _exit(kException);
    }
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) std::abort();
  if (!WIFSTOPPED(status)) {
    end.possible = false;
    return end;
  }
  ptrace(PTRACE_SETOPTIONS, child, nullptr, reinterpret_cast<void*>(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
  unsigned count = 0;
  bool entering = true;
  for (int deliver = 0;;) {
    if (ptrace(PTRACE_SYSCALL, child, nullptr, reinterpret_cast<void*>(static_cast<intptr_t>(deliver))) != 0)
      std::abort();
    deliver = 0;
    if (waitpid(child, &status, 0) != child) std::abort();
    if (WIFEXITED(status) || WIFSIGNALED(status)) break;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      deliver = WSTOPSIG(status);
      continue;
    }
    user_regs_struct registers{};
    if (ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) std::abort();
    const bool entered = std::exchange(entering, !entering);
    if (!concerns_files(registers.orig_rax)) continue;
    const bool here = count == incident.at && is_incident(incident.what, entered);
    if (!entered) ++count;
    if (!here) continue;
    end.happened = true;
    if (incident.what != Incident::What::error) {
      kill(child, SIGKILL);
      if (waitpid(child, &status, 0) != child) std::abort();
      break;
    }
    // A call of another number is made instead, which does not exist; its answer is changed.
    registers.orig_rax = ~0ull;
    if (ptrace(PTRACE_SETREGS, child, nullptr, &registers) != 0 ||
        ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0 || waitpid(child, &status, 0) != child ||
        !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0)
      std::abort();
    registers.rax = static_cast<uint64_t>(-static_cast<int64_t>(incident.error));
    if (ptrace(PTRACE_SETREGS, child, nullptr, &registers) != 0) std::abort();
    entering = true;
    ++count;
  }
  end.killed = WIFSIGNALED(status);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  return end;
}

}  // namespace wavejit::test
