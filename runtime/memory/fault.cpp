#include "runtime/memory/fault.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include "backend-x86/fault_decode.h"
#include "frontend/interp/interpreter.h"
#include "internal/check.h"
#include "internal/host_address.h"

namespace wavejit::runtime {
namespace {

struct ThreadState : GuestMark {
  sigjmp_buf landing;
  bool address_known = false;  // of the last fault
};

// Initial-exec: the handlers read it in threads that never called wavejit, where a lazily allocated TLS block would
// mean malloc inside a signal handler.
__attribute__((tls_model("initial-exec"))) thread_local ThreadState* t_state = nullptr;

// Begun and ended, so odd while one is under way; and those that the thread has tried again after.
std::atomic<uint32_t> g_page_moves{0};
__attribute__((tls_model("initial-exec"))) thread_local uint32_t t_page_moves = 0;

std::atomic<bool (*)(uint64_t address)> g_write_watch{nullptr};

constexpr int kFaultSignals[] = {SIGSEGV, SIGBUS, SIGFPE};
int interrupt_signal() {
  return SIGRTMIN + 7;
}

struct sigaction g_previous[3];
struct sigaction g_previous_interrupt;

void chain(const struct sigaction& previous, int signal, siginfo_t* info, void* context) {
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL) {
    // Returning re-executes the faulting instruction under the default action, which ends the process as it would have
    // without wavejit.
    ::signal(signal, SIG_DFL);
    if (info->si_code <= 0) raise(signal);  // sent by kill(): it will not come again by itself
  } else if (previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  }
}

// Unwinds from a handler to run_guest().
[[noreturn]] void leave(ThreadState& state, GuestOutcome outcome) {
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, interrupt_signal());
  pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
  siglongjmp(state.landing, static_cast<int>(outcome));
}

// The range of `code` that holds the host address, nullptr when none does.
const backend::FaultRange* find_range(const backend::CompiledCode& code, uint64_t host_pc) {
  const auto ranges = code.fault_ranges();
  const auto offset = static_cast<uint32_t>(host_pc - reinterpret_cast<uint64_t>(code.code().data()));
  auto it = std::upper_bound(ranges.begin(), ranges.end(), offset,
                             [](uint32_t o, const backend::FaultRange& r) { return o < r.begin; });
  if (it == ranges.begin()) return nullptr;
  --it;
  return offset < it->end ? &*it : nullptr;
}

// Uses the description that the interpreter leaves in the wave. An access to a non-canonical address comes without the
// address: then it is that of the first lane that has one.
void describe_interpreter_fault(ThreadState& state) {
  WaveState& wave = *state.wave;
  if (!state.address_known && wave.engine_private[0] == interp::kFaultLanes) {
    const auto* addresses = reinterpret_cast<const uint64_t*>(wave.engine_private[1]);
    for (uint32_t lane = 0; lane < kWaveSize && !state.address_known; ++lane) {
      if (!(wave.engine_private[3] >> lane & 1) || is_canonical(addresses[lane])) continue;
      wave.fault_address = addresses[lane];
      state.address_known = true;
    }
  }
  wave.fault_lane = state.address_known ? interp::find_fault_lane(wave, wave.fault_address) : kWaveSize;
}

// Fills in what the tables of translated code and the machine state say.
void describe_translated_fault(ThreadState& state, const ucontext_t& context) {
  WaveState& wave = *state.wave;
  const backend::FaultRange* range = find_range(*state.code, static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]));
  if (!range) {
    // Functions that translated code calls describe their accesses (backend-x86/calls.h).
    if (wave.engine_private[0] == interp::kFaultLanes) return describe_interpreter_fault(state);
    wave.fault_lane = kWaveSize;
    return;
  }
  const std::optional<uint64_t> address =
      state.address_known ? std::optional<uint64_t>(wave.fault_address) : std::nullopt;
  wave.pc = range->guest_pc;
  wave.fault_write = range->write;
  const backend::DecodedFault fault = backend::decode_fault(*range, context, address, wave);
  wave.fault_lane = fault.lane;
  if (!address && fault.non_canonical) {
    wave.fault_address = *fault.non_canonical;
    state.address_known = true;
  }
  if (range->misaligned) {
    wave.fault_misaligned = 1;
    wave.fault_address ^= uint64_t{1} << 63;
  }
}

// Pages of which a thread may not know yet that they can be written again.
bool is_moved_page(int signal, const siginfo_t& info) {
  if (signal != SIGSEGV || info.si_code != SEGV_ACCERR) return false;
  uint32_t moves;
  while ((moves = g_page_moves.load(std::memory_order_acquire)) % 2 != 0) sched_yield();
  // A thread tries again once after each move: what faults then is a fault.
  if (t_page_moves == moves) return false;
  t_page_moves = moves;
  return true;
}

bool is_watched_write(int signal, const siginfo_t& info) {
  if (signal != SIGSEGV || info.si_code != SEGV_ACCERR) return false;
  const auto watch = g_write_watch.load(std::memory_order_acquire);
  return watch && watch(reinterpret_cast<uint64_t>(info.si_addr));
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (is_watched_write(signal, *info)) return;
  if (is_moved_page(signal, *info)) return;
  ThreadState* state = t_state;
  if (!state || !state->executing) {
    for (unsigned i = 0; i < 3; ++i)
      if (kFaultSignals[i] == signal) chain(g_previous[i], signal, info, context);
    return;
  }
  state->executing = 0;
  WaveState& wave = *state->wave;
  // A non-canonical address raises a general protection fault, for which the kernel reports no address.
  state->address_known = signal != SIGFPE && info->si_code > 0 && info->si_code != SI_KERNEL;
  wave.exit_reason = ExitReason::kFault;
  wave.fault_address = state->address_known ? reinterpret_cast<uint64_t>(info->si_addr) : 0;
  if (state->code)
    describe_translated_fault(*state, *static_cast<const ucontext_t*>(context));
  else
    describe_interpreter_fault(*state);
  leave(*state, GuestOutcome::fault);
}

void on_interrupt(int signal, siginfo_t* info, void* context) {
  ThreadState* state = t_state;
  if (!state) {
    if (info->si_code != SI_TKILL) chain(g_previous_interrupt, signal, info, context);
    return;
  }
  if (!state->executing || !state->code || !__atomic_load_n(state->wave->stop_flag, __ATOMIC_ACQUIRE)) return;
  const auto host_pc = static_cast<uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  const auto code = state->code->code();
  const auto begin = reinterpret_cast<uint64_t>(code.data());
  if (host_pc < begin || host_pc >= begin + code.size()) return;
  state->executing = 0;
  state->wave->exit_reason = ExitReason::kStopped;
  leave(*state, GuestOutcome::stopped);
}

struct sigaction fault_action() {
  // Interruptions wait while a handler runs: they are queued and repeated, and nested frames of many of them would not
  // fit on the alternate stack. leave() lets them in again.
  struct sigaction action{};
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, interrupt_signal());
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = on_fault;
  return action;
}

void install_handlers() {
  struct sigaction action = fault_action();
  for (unsigned i = 0; i < 3; ++i)
    WAVEJIT_CHECK(sigaction(kFaultSignals[i], &action, &g_previous[i]) == 0, "cannot install a signal handler");
  action.sa_flags |= SA_RESTART;
  action.sa_sigaction = on_interrupt;
  WAVEJIT_CHECK(sigaction(interrupt_signal(), &action, &g_previous_interrupt) == 0, "cannot install a signal handler");
}

void ensure_handlers() {
  static std::once_flag once;
  std::call_once(once, install_handlers);
}

// The thread's alternate stack. A stack that the application has set up is kept if it is large enough for an AVX-512
// signal frame and the handlers.
class AlternateStack {
 public:
  AlternateStack() {
    stack_t current{};
    if (sigaltstack(nullptr, &current) == 0 && !(current.ss_flags & SS_DISABLE) && current.ss_size >= kWanted / 2)
      return;
    void* memory = mmap(nullptr, kWanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;  // faults then use the ordinary stack
    stack_t mine{};
    mine.ss_sp = memory;
    mine.ss_size = kWanted;
    if (sigaltstack(&mine, &previous_) == 0)
      memory_ = memory;
    else
      munmap(memory, kWanted);
  }
  ~AlternateStack() {
    if (!memory_) return;
    stack_t current{};
    if (sigaltstack(nullptr, &current) == 0 && current.ss_sp == memory_) sigaltstack(&previous_, nullptr);
    munmap(memory_, kWanted);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  static constexpr size_t kWanted = 64 * 1024;
  void* memory_ = nullptr;
  stack_t previous_{};
};

ThreadState& thread_state() {
  thread_local ThreadState state;
  thread_local AlternateStack stack;
  // The handlers must not see the state after it is gone.
  struct Clear {
    ~Clear() { t_state = nullptr; }
  };
  thread_local Clear clear;
  (void)stack;
  (void)clear;
  t_state = &state;
  return state;
}

}  // namespace

GuestThread::GuestThread() {
  ensure_handlers();
  thread_state();
  sigset_t wanted, saved;
  sigemptyset(&wanted);
  for (const int signal : kFaultSignals) sigaddset(&wanted, signal);
  sigaddset(&wanted, interrupt_signal());
  pthread_sigmask(SIG_UNBLOCK, &wanted, &saved);
  static_assert(sizeof saved <= sizeof saved_mask_);
  std::memcpy(saved_mask_, &saved, sizeof saved);
}

GuestThread::~GuestThread() {
  sigset_t saved;
  std::memcpy(&saved, saved_mask_, sizeof saved);
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
}

GuestOutcome run_guest(void (*body)(void*), void* context, GuestFault& fault) {
  ThreadState& state = *t_state;
  const unsigned mxcsr = _mm_getcsr();
  const int landed = sigsetjmp(state.landing, 0);
  if (landed == 0) body(context);
  _mm_setcsr(mxcsr);
  state.executing = 0;
  fault = {.wave = state.wave, .address_known = state.address_known};
  return static_cast<GuestOutcome>(landed);
}

GuestMark& guest_mark() {
  return *t_state;
}

PageMove::PageMove() {
  ensure_handlers();
  g_page_moves.fetch_add(1, std::memory_order_acq_rel);
}

PageMove::~PageMove() {
  g_page_moves.fetch_add(1, std::memory_order_acq_rel);
}

void set_write_watch(bool (*watch)(uint64_t address)) {
  ensure_handlers();
  g_write_watch.store(watch, std::memory_order_release);
  // The program may have put others in their place since then.
  const struct sigaction action = fault_action();
  WAVEJIT_CHECK(sigaction(SIGSEGV, &action, nullptr) == 0, "cannot install a signal handler");
}

pid_t current_thread_id() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

void interrupt_thread(pid_t thread) {
  syscall(SYS_tgkill, getpid(), thread, interrupt_signal());
}

}  // namespace wavejit::runtime
