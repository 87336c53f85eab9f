// Debian's libasmjit.a is compiled for executables (-fPIE): its one reference to a variable of another library, libc's
// `stderr`, does not link into a shared library. cmake/WavejitInstall.cmake renames that reference to this variable.
#include <cstdio>

extern "C" {
extern std::FILE* wavejit_asmjit_stderr;
__attribute__((visibility("hidden"))) std::FILE* wavejit_asmjit_stderr = stderr;
}
