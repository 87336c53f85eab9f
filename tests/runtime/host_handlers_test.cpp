// Programs with handlers of their own for the signals that wavejit uses, installed before and after it: their faults are
// theirs, faults of kernels become errors, and with WAVEJIT_SIGNALS=off there is no handler at all. Each test ends a
// process of its own.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "test_kernels.h"

extern char** environ;

namespace wavejit::test {
namespace {

constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

// Ends the process unless it holds: what is tested here runs in children.
void require(bool condition, int line) {
  if (condition) return;
  std::fprintf(stderr, "line %d\n", line);
  _exit(1);
}
#define REQUIRE(condition) require((condition), __LINE__)

KernelSource store_ids() {
  return {.name = "ids", .body = std::string(kOwnAddress) + "  store v[6:7], v0\n", .args = {{"out"}}};
}
KernelSource endless() {
  return {.name = "endless", .body = ".Lagain:\n  v_add_u32_e32 v1, 1, v0\n  s_branch .Lagain\n", .args = {}};
}

void launch_works(const Module& module, const TestEngine& engine) {
  Kernel kernel = module.kernel("ids");
  Buffer<uint32_t> out(64);
  kernel.set_args(out);
  (void)kernel.launch(launch_options(engine, 64, 64));
  for (uint32_t i = 0; i < 64; ++i) REQUIRE(out[i] == i);
}
void launch_faults(const Module& module, const TestEngine& engine) {
  Kernel kernel = module.kernel("ids");
  kernel.set_arg_pointer(0, reinterpret_cast<void*>(0x3000));
  try {
    (void)kernel.launch(launch_options(engine, 64, 64));
  } catch (const Exception& e) {
    REQUIRE(e.status() == WAVEJIT_GUEST_FAULT && e.address() == 0x3000);
    return;
  }
  REQUIRE(false);
}
// The program faults by itself in between, which fault() is to do once.
void launches_and(const Module& module, void (*fault)()) {
  for (const TestEngine& engine : engines_and_auto()) {
    launch_works(module, engine);
    fault();
    launch_faults(module, engine);
    fault();
    launch_works(module, engine);
  }
}

// Reads what is not there, in an instruction of three bytes that a handler can leave out: mov (%rdi), %rax.
__attribute__((noinline)) uint64_t load_at(uint64_t address) {
  uint64_t value = 0;
  asm volatile("mov (%%rdi), %%rax" : "=a"(value) : "D"(address) : "memory");
  return value;
}
constexpr uint64_t kNull = 0x18;

std::atomic<int> g_handled{0};
struct sigaction g_chained;

// As Java's: implicit null checks are faults that its own code continues from elsewhere; the rest goes to who was there.
void java_handler(int signal, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (info->si_addr == reinterpret_cast<void*>(kNull)) {
    registers[REG_RAX] = 42;
    registers[REG_RIP] += 3;
    ++g_handled;
    return;
  }
  if (g_chained.sa_flags & SA_SIGINFO) return g_chained.sa_sigaction(signal, info, context);
  _exit(9);
}
void java_fault() {
  const int before = g_handled;
  REQUIRE(load_at(kNull) == 42);
  REQUIRE(g_handled == before + 1);
}
void install_java() {
  struct sigaction action{};
  action.sa_sigaction = java_handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  REQUIRE(sigaction(SIGSEGV, &action, &g_chained) == 0);
  REQUIRE(sigaction(SIGBUS, &action, nullptr) == 0);
}

// As Go's: on an alternate stack of its own, which it looks for its own frames on, with all signals blocked.
uint8_t* g_go_stack = nullptr;
constexpr size_t kGoStack = 32 << 10;
void go_handler(int signal, siginfo_t* info, void* context) {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  REQUIRE(sigismember(&mask, SIGUSR2) == 1);
  REQUIRE(here - reinterpret_cast<uintptr_t>(g_go_stack) < kGoStack);
  java_handler(signal, info, context);
}
void install_go() {
  g_go_stack =
      static_cast<uint8_t*>(mmap(nullptr, kGoStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  stack_t stack{};
  stack.ss_sp = g_go_stack;
  stack.ss_size = kGoStack;
  REQUIRE(sigaltstack(&stack, nullptr) == 0);
  struct sigaction action{};
  action.sa_sigaction = go_handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE}) {
    struct sigaction before{};
    REQUIRE(sigaction(signal, &action, &before) == 0);
    if (signal == SIGSEGV) g_chained = before;
  }
}

// As older programs': no information, one signal at a time, and it leaves with siglongjmp.
sigjmp_buf g_behind_fault;
void plain_handler(int) {
  ++g_handled;
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  REQUIRE(sigismember(&mask, SIGSEGV) == 1 && sigismember(&mask, SIGUSR1) == 1);
  volatile uint8_t large[100 << 10];  // more than an alternate stack usually has
  for (size_t i = 0; i < sizeof large; i += 4096) large[i] = 1;
  siglongjmp(g_behind_fault, 1);
}
void plain_fault() {
  const int before = g_handled;
  if (sigsetjmp(g_behind_fault, 1) == 0) (void)load_at(kNull);
  REQUIRE(g_handled == before + 1);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  REQUIRE(sigismember(&mask, SIGSEGV) == 0);
}

class HostHandlers : public testing::Test {
 protected:
  // The child begins with main() and has no threads.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

template <typename Body>
[[noreturn]] void in_child(Body&& body) {
  body(load("gfx906", {store_ids(), endless()}));
  _exit(0);
}

TEST_F(HostHandlers, JavaBefore) {
  EXPECT_EXIT(in_child([](const Module& module) {
                install_java();
                launches_and(module, java_fault);
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(HostHandlers, JavaAfter) {
  EXPECT_EXIT(in_child([](const Module& module) {
                launch_works(module, engines().front());
                install_java();
                launches_and(module, java_fault);
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(HostHandlers, GoBefore) {
  EXPECT_EXIT(in_child([](const Module& module) {
                install_go();
                launches_and(module, java_fault);
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(HostHandlers, GoAfter) {
  EXPECT_EXIT(in_child([](const Module& module) {
                launch_works(module, engines().front());
                install_go();
                launches_and(module, java_fault);
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(HostHandlers, PlainBefore) {
  if (kSanitized) GTEST_SKIP() << "stacks that are left by siglongjmp";
  EXPECT_EXIT(in_child([](const Module& module) {
                struct sigaction action{};
                action.sa_handler = plain_handler;
                sigaddset(&action.sa_mask, SIGUSR1);
                REQUIRE(sigaction(SIGSEGV, &action, nullptr) == 0);
                launches_and(module, plain_fault);
              }),
              testing::ExitedWithCode(0), "");
}

// A handler that the kernel would have called once.
TEST_F(HostHandlers, OnceOnly) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's handler ends the process its own way";
  EXPECT_EXIT(in_child([](const Module& module) {
                struct sigaction action{};
                action.sa_sigaction = java_handler;
                action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
                REQUIRE(sigaction(SIGSEGV, &action, nullptr) == 0);
                launch_works(module, engines().front());
                java_fault();
                (void)load_at(kNull);
              }),
              testing::KilledBySignal(SIGSEGV), "");
}

// The kernel ends processes that fault, whether they ignore that or not.
TEST_F(HostHandlers, IgnoredFaultsEndTheProcess) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's handler ends the process its own way";
  EXPECT_EXIT(in_child([](const Module& module) {
                REQUIRE(signal(SIGSEGV, SIG_IGN) != SIG_ERR);
                launch_works(module, engines().front());
                launch_faults(module, engines().front());
                REQUIRE(kill(getpid(), SIGSEGV) == 0);  // which is ignored
                (void)load_at(kNull);
              }),
              testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(HostHandlers, NoneAreInstalledIfTheEnvironmentSaysSo) {
  const auto body = [] {
    setenv("WAVEJIT_SIGNALS", "off", 1);
    constexpr size_t kSignals = 4;
    const int signals[kSignals] = {SIGSEGV, SIGBUS, SIGFPE, SIGRTMIN + 7};
    struct sigaction before[kSignals], after{};
    for (size_t i = 0; i < kSignals; ++i) sigaction(signals[i], nullptr, &before[i]);
    stack_t stack{}, later{};
    sigaltstack(nullptr, &stack);
    in_child([&](const Module& module) {
      for (const TestEngine& engine : engines_and_auto()) launch_works(module, engine);
      for (size_t i = 0; i < kSignals; ++i) {
        sigaction(signals[i], nullptr, &after);
        REQUIRE(after.sa_sigaction == before[i].sa_sigaction && after.sa_flags == before[i].sa_flags);
      }
      sigaltstack(nullptr, &later);
      REQUIRE(later.ss_sp == stack.ss_sp && later.ss_flags == stack.ss_flags);
    });
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

// Loops that nothing could interrupt poll.
TEST_F(HostHandlers, TimeLimitsHoldWithoutThem) {
  EXPECT_EXIT(
      {
        setenv("WAVEJIT_SIGNALS", "off", 1);
        in_child([](const Module& module) {
          for (const TestEngine& engine : engines_and_auto()) {
            Kernel kernel = module.kernel("endless");
            LaunchOptions options = launch_options(engine, 256, 64, 2);
            options.timeout_ns = 5'000'000;
            try {
              (void)kernel.launch(options);
              REQUIRE(false);
            } catch (const Exception& e) {
              REQUIRE(e.status() == WAVEJIT_TIMEOUT);
            }
            launch_works(module, engine);
          }
        });
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(HostHandlers, FaultsOfKernelsAreTheProcesssWithoutThem) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's handler ends the process its own way";
  EXPECT_EXIT(
      {
        setenv("WAVEJIT_SIGNALS", "off", 1);
        in_child([](const Module& module) { launch_faults(module, engines().back()); });
      },
      testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(HostHandlers, TheProgramsHandlerGetsThemThen) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's handler ends the process its own way";
  EXPECT_EXIT(
      {
        setenv("WAVEJIT_SIGNALS", "off", 1);
        struct sigaction action{};
        action.sa_sigaction = [](int, siginfo_t* info, void*) {
          _exit(info->si_addr == reinterpret_cast<void*>(0x3000) ? 5 : 6);
        };
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, nullptr);
        in_child([](const Module& module) { launch_faults(module, engines().front()); });
      },
      testing::ExitedWithCode(5), "");
}

// ------------------------------------------------------------------------------------------------ many threads, processes

TEST(ManyThreads, FiveHundredLaunchAtOnce) {
  const Module module = load("gfx906", {store_ids()});
  const std::vector<TestEngine> all = engines_and_auto();
  std::atomic<int> wrong{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 500; ++t)
    threads.emplace_back([&, t] {
      while (!go) std::this_thread::yield();
      try {
        Kernel kernel = module.kernel("ids");
        Buffer<uint32_t> out(128);
        kernel.set_args(out);
        (void)kernel.launch(launch_options(all[t % all.size()], 64, 64, 1 + t % 3));
        for (uint32_t i = 0; i < 64; ++i) wrong += out[i] != i;
        // Not the same place in two threads: ThreadSanitizer sees stores that fault, too.
        kernel.set_arg_pointer(0, reinterpret_cast<void*>(uintptr_t{0x1000} + 256 * t));
        (void)kernel.launch(launch_options(all[t % all.size()], 64, 64));
        ++wrong;
      } catch (const Exception& e) {
        wrong += e.status() != WAVEJIT_GUEST_FAULT;
      }
    });
  go = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Children of a process whose threads launch: they end, or are other programs. What they may not do is launch
// (docs/limits.md).
TEST(ManyThreads, ForkAndExecuteMeanwhile) {
  if (kSignalsAreHeldBack) GTEST_SKIP() << "ThreadSanitizer does not follow forks of processes with threads";
  const Module module = load("gfx906", {store_ids()});
  const std::vector<TestEngine> all = engines_and_auto();
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0}, launches{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      Kernel kernel = module.kernel("ids");
      Buffer<uint32_t> out(1024);
      kernel.set_args(out);
      for (unsigned round = 0; !done; ++round) {
        std::memset(out.data(), 0, 1024 * 4);
        (void)kernel.launch(launch_options(all[(t + round) % all.size()], 1024, 64, 2));
        // One-dimensional ids of work-items, in groups of 64 that write the same 64 words.
        for (uint32_t i = 0; i < 64; ++i) wrong += out[i] != i;
        ++launches;
      }
    });
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    pid_t other = 0;
    char name[] = "true";
    char* arguments[] = {name, nullptr};
    ASSERT_EQ(posix_spawnp(&other, "true", nullptr, nullptr, arguments, environ), 0);
    ASSERT_EQ(waitpid(other, &status, 0), other);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  while (launches < 4) std::this_thread::yield();
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace wavejit::test
