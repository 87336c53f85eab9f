// Runs a command without a system call: `without memfd COMMAND...`, or without memory that can be executed after it was
// written: `without execution COMMAND...`. Needs no privileges.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

constexpr unsigned kNumber = offsetof(seccomp_data, nr);
constexpr unsigned kProtection = offsetof(seccomp_data, args[2]), kFlags = offsetof(seccomp_data, args[3]);

constexpr sock_filter load(unsigned offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}
constexpr sock_filter result(unsigned value) {
  return BPF_STMT(BPF_RET | BPF_K, value);
}
// How many instructions are left out if the condition holds, and if not.
constexpr sock_filter is(unsigned value, unsigned char then, unsigned char otherwise) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise);
}
constexpr sock_filter has(unsigned bits, unsigned char then, unsigned char otherwise) {
  return BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, then, otherwise);
}

// The dynamic loader maps libraries privately, for reading and execution.
const sock_filter kNoExecution[] = {
    load(kNumber),
    is(SYS_mprotect, 0, 2),
    load(kProtection),
    has(PROT_EXEC, 5, 6),
    is(SYS_mmap, 0, 5),
    load(kProtection),
    has(PROT_EXEC, 0, 3),
    load(kFlags),
    has(MAP_SHARED | MAP_ANONYMOUS, 0, 1),
    result(SECCOMP_RET_ERRNO | EACCES),
    result(SECCOMP_RET_ALLOW),
};
const sock_filter kNoMemfd[] = {
    load(kNumber),
    is(SYS_memfd_create, 0, 1),
    result(SECCOMP_RET_ERRNO | ENOSYS),
    result(SECCOMP_RET_ALLOW),
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool memfd = std::strcmp(argv[1], "memfd") == 0;
  sock_fprog program{};
  program.len = memfd ? sizeof kNoMemfd / sizeof *kNoMemfd : sizeof kNoExecution / sizeof *kNoExecution;
  program.filter = const_cast<sock_filter*>(memfd ? kNoMemfd : kNoExecution);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::perror("seccomp");
    return 77;
  }
  execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
