// Turning host signals in guest code into errors, and interrupting guest code from outside.
//
// A thread runs guest code inside run_guest(). While it is marked as executing (GuestScope), these signals are
// wavejit's:
//   SIGSEGV, SIGBUS, SIGFPE  a memory access (or division) of the guest failed. The handler fills in the wave's fault
//                            fields, and unwinds to run_guest() with siglongjmp.
//   SIGRTMIN + 7             sent by interrupt_thread(). If the host PC is inside translated code the handler unwinds at
//                            once, provided the wave's stop flag is set. Anywhere else it does nothing: the interpreter
//                            and out-of-line helpers return soon and the dispatcher polls the flag. The sender repeats
//                            the signal until the thread has left, so a missed moment costs a repetition, never a hang.
// Signals that arrive while the thread is not executing guest code go to the handlers installed before wavejit's.
//
// What is skipped by unwinding are frames of the interpreter, translated code and its helpers. Those hold no locks and
// own no memory while they access guest memory; that is their contract. The handlers run with the interrupting signal
// blocked and unblock it before they unwind; run_guest() restores MXCSR.
//
// WAVEJIT_SIGNALS=off in the environment installs no handlers, for hosts that forbid them. Then a fault of the guest is
// the process's, threads are not interrupted (translated code polls in all of its loops instead: ir::PassContext), and
// nothing here may rely on protected pages.
//
// How the faulting lane is found: translated code has tables from host PC to guest PC and lanes
// (backend-x86/encode/fault_decode.h); the interpreter leaves a description in the wave (frontend/interp/interpreter.h).
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "backend-x86/compiler.h"
#include "internal/error.h"
#include "internal/wave_state.h"

namespace wavejit::runtime {

enum class GuestOutcome : uint8_t {
  returned,  // `body` returned
  fault,     // wave.pc, fault_address, fault_lane, fault_write and exit_reason = kFault are set
  stopped,   // unwound because of the stop flag; exit_reason = kStopped
};

// False if the environment says that the process installs no handlers. The same during the whole process.
[[nodiscard]] bool handles_signals();

// Installs the handlers once per process and gives the calling thread an alternate signal stack, with the signals above
// unblocked until the object goes out of scope. Every thread that calls run_guest() holds one. Without handlers
// neither stack nor mask change.
class GuestThread {
 public:
  GuestThread();
  ~GuestThread();
  GuestThread(const GuestThread&) = delete;
  GuestThread& operator=(const GuestThread&) = delete;

 private:
  uint64_t saved_mask_[16];  // sigset_t
};

// What stopped guest code, when something did.
struct GuestFault {
  WaveState* wave = nullptr;   // the one that was executing (as set by the last GuestScope)
  bool address_known = false;  // whether wave->fault_address means something
};

// Calls body(context) such that faults and interruptions inside a GuestScope end it. Frames between here and the
// GuestScope must not own anything. MXCSR is afterwards as before, whatever the body and guest code did to it.
GuestOutcome run_guest(void (*body)(void*), void* context, GuestFault& fault);

// What the handlers know of a thread that executes guest code.
struct GuestMark {
  WaveState* wave = nullptr;                    // executing, or last executed
  const backend::CompiledCode* code = nullptr;  // nullptr in the interpreter
  volatile sig_atomic_t executing = 0;
};
// The calling thread's, which must hold a GuestThread.
[[nodiscard]] GuestMark& guest_mark();

// Marks the calling thread as executing `wave`, in `code` (translated) or in the interpreter (nullptr).
class GuestScope {
 public:
  GuestScope(GuestMark& mark, WaveState& wave, const backend::CompiledCode* code) : mark_(mark) {
    mark.wave = &wave;
    mark.code = code;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    mark.executing = 1;
  }
  ~GuestScope() { mark_.executing = 0; }
  GuestScope(const GuestScope&) = delete;
  GuestScope& operator=(const GuestScope&) = delete;

 private:
  GuestMark& mark_;
};

// While it lives, the process may take away the permission to write to pages of its own, in order to put others in
// their place: threads that write to them wait for its end and try again. One at a time; its own thread must not write
// to such pages. Only if handles_signals().
class PageMove {
 public:
  PageMove();
  ~PageMove();
  PageMove(const PageMove&) = delete;
  PageMove& operator=(const PageMove&) = delete;
};

// Is asked about every write to a page that may not be written to, before anything else, in the signal handler: true if
// the thread is to try again. It may not allocate. nullptr: nobody is asked. Installs the handlers,
// that of SIGSEGV in any case. Only if handles_signals().
void set_write_watch(bool (*watch)(uint64_t address));

[[nodiscard]] pid_t current_thread_id();
void interrupt_thread(pid_t thread);

}  // namespace wavejit::runtime
