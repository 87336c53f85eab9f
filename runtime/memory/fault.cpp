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
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <type_traits>

#include "backend-x86/encode/fault_decode.h"
#include "frontend/interp/interpreter.h"
#include "internal/check.h"
#include "internal/environment.h"
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

// With these signals blocked that its sigaction() names, as the kernel would call it. The mask is put back when the
// signal's own handler returns, or by siglongjmp().
void call(const struct sigaction& previous, int signal, siginfo_t* info, void* context) {
  sigset_t mask = previous.sa_mask;
  if (!(previous.sa_flags & SA_NODEFER)) sigaddset(&mask, signal);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  if (previous.sa_flags & SA_SIGINFO)
    previous.sa_sigaction(signal, info, context);
  else
    previous.sa_handler(signal);
}

void chain(struct sigaction& previous, int signal, siginfo_t* info, void* context) {
  const bool by_process = info->si_code <= 0;  // kill() and its like
  const bool has_handler =
      (previous.sa_flags & SA_SIGINFO) || (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN);
  if (has_handler) {
    const struct sigaction action = previous;
    if (action.sa_flags & SA_RESETHAND) previous = {};
    call(action, signal, info, context);
  } else if (previous.sa_handler == SIG_DFL || !by_process) {
    // Returning re-executes the faulting instruction under the default action, which ends the process as it would have
    // without wavejit: the kernel does not ignore faults, even of programs that want that.
    ::signal(signal, SIG_DFL);
    if (by_process) raise(signal);  // it will not come again by itself
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
  const uint64_t distance = host_pc - reinterpret_cast<uint64_t>(code.code().data());
  if (distance >= code.code().size()) return nullptr;
  const auto offset = static_cast<uint32_t>(distance);
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
  const backend::FaultRange* range = find_range(*state.code, backend::place_in_code(context));
  if (!range) {
    // Functions that translated code calls describe their accesses (backend-x86/helpers/calls.h).
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
  if (!handles_signals()) return;
  static std::once_flag once;
  std::call_once(once, install_handlers);
}

// The thread's alternate stack. A stack that the application has set up is kept if it is large enough for an AVX-512
// signal frame and the handlers.
class AlternateStack {
 public:
  AlternateStack() {
    if (!handles_signals()) return;
    stack_t current{};
    if (sigaltstack(nullptr, &current) == 0 && !(current.ss_flags & SS_DISABLE) && current.ss_size >= kEnough) return;
    void* memory =
        mmap(nullptr, kGuard + kWanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;  // faults then use the ordinary stack
    stack_t mine{};
    mine.ss_sp = static_cast<uint8_t*>(memory) + kGuard;
    mine.ss_size = kWanted;
    if (mprotect(memory, kGuard, PROT_NONE) == 0 && sigaltstack(&mine, &previous_) == 0)
      memory_ = memory;
    else
      munmap(memory, kGuard + kWanted);
  }
  ~AlternateStack() {
    if (!memory_) return;
    stack_t current{};
    if (sigaltstack(nullptr, &current) == 0 && current.ss_sp == static_cast<uint8_t*>(memory_) + kGuard)
      sigaltstack(&previous_, nullptr);
    munmap(memory_, kGuard + kWanted);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  // The program's handlers run on it, too, and may have been written for an ordinary stack. A page in front faults.
  static constexpr size_t kWanted = 256 * 1024, kEnough = 32 * 1024, kGuard = 4096;
  void* memory_ = nullptr;
  stack_t previous_{};
};

// What a thread gives back when it ends. Not an object with a destructor: to register one that is the thread's, glibc
// allocates memory, and ends the process if there is none. Keys that are made early need none.
pthread_key_t thread_end() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    WAVEJIT_CHECK(pthread_key_create(&made,
                                     [](void* stack) {
                                       t_state = nullptr;  // the handlers must not see the state after it is gone
                                       static_cast<AlternateStack*>(stack)->~AlternateStack();
                                     }) == 0,
                  "there are no keys for threads");
    return made;
  }();
  return key;
}
const pthread_key_t g_thread_end = thread_end();  // early

void make_thread_state() {
  if (t_state) return;
  static_assert(std::is_trivially_destructible_v<ThreadState>);
  thread_local ThreadState state;
  alignas(AlternateStack) thread_local std::byte place[sizeof(AlternateStack)];
  auto* stack = new (place) AlternateStack;
  if (pthread_setspecific(thread_end(), stack) != 0) {
    stack->~AlternateStack();
    throw std::bad_alloc();
  }
  t_state = &state;
}

}  // namespace

bool handles_signals() {
  static const bool answer = environment_switch("WAVEJIT_SIGNALS", true);
  return answer;
}

GuestThread::GuestThread() {
  ensure_handlers();
  make_thread_state();
  if (!handles_signals()) return;
  sigset_t wanted, saved;
  sigemptyset(&wanted);
  for (const int signal : kFaultSignals) sigaddset(&wanted, signal);
  sigaddset(&wanted, interrupt_signal());
  pthread_sigmask(SIG_UNBLOCK, &wanted, &saved);
  static_assert(sizeof saved <= sizeof saved_mask_);
  std::memcpy(saved_mask_, &saved, sizeof saved);
}

GuestThread::~GuestThread() {
  if (!handles_signals()) return;
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
  WAVEJIT_CHECK(handles_signals(), "pages move only where faults are handled");
  ensure_handlers();
  g_page_moves.fetch_add(1, std::memory_order_acq_rel);
}

PageMove::~PageMove() {
  g_page_moves.fetch_add(1, std::memory_order_acq_rel);
}

void set_write_watch(bool (*watch)(uint64_t address)) {
  WAVEJIT_CHECK(handles_signals(), "pages are watched only where faults are handled");
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
  if (!handles_signals()) return;
  syscall(SYS_tgkill, getpid(), thread, interrupt_signal());
}

}  // namespace wavejit::runtime
