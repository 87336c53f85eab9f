// The threads of a launch: when they come, and to which CPUs.
#include "runtime/threads/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/threads/cpu_places.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

TEST(ThreadPool, EveryThreadTakesPart) {
  std::atomic<unsigned> arrived{0};
  // Each waits until all four are there.
  runtime::run_on_threads(4, [&](uint32_t) {
    ++arrived;
    while (arrived < 4) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 4u);
}

// A forked process has none of the threads, and may find their lock taken.
TEST(ThreadPool, ForkedProcessesHaveThreadsOfTheirOwn) {
  if (kSignalsAreHeldBack) GTEST_SKIP() << "ThreadSanitizer does not follow forks of processes with threads";
  const auto all_come = [] {
    std::atomic<unsigned> arrived{0};
    runtime::run_on_threads(3, [&](uint32_t) {
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    });
  };
  all_come();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    all_come();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ThreadPool, NestedCallersDoNotWaitForEachOther) {
  std::atomic<unsigned> sum{0};
  runtime::run_on_threads(3, [&](uint32_t) {
    std::atomic<unsigned> inner{0};
    runtime::run_on_threads(2, [&](uint32_t) {
      ++inner;
      while (inner < 2) std::this_thread::yield();
    });
    sum += inner;
  });
  EXPECT_EQ(sum % 2, 0u);
  EXPECT_GE(sum, 2u);
}

// A thread that slept on the CPU of the one that calls it comes on another one.
TEST(ThreadPool, ThreadsHaveCpusOfTheirOwn) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one CPU";
  // Either may be moved at any time, more often the busier the machine is.
  constexpr unsigned kRounds = 100;
  unsigned met = kRounds, restricted = 0;
  for (int attempt = 0; attempt < 200 && met > kRounds / 10; ++attempt) {
    met = 0;
    for (unsigned round = 0; round < kRounds; ++round) {
      std::atomic<int> other{-1};
      int own = -1;
      runtime::run_on_threads(2, [&](uint32_t index) {
        if (index == 0) {
          own = sched_getcpu();
          while (other < 0) std::this_thread::yield();
          return;
        }
        cpu_set_t mask;
        restricted += sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_EQUAL(&mask, &all) == 0;
        other = sched_getcpu();
      });
      met += own == other;
    }
  }
  EXPECT_LE(met, kRounds / 10);
  EXPECT_EQ(restricted, 0u);
}

cpu_set_t only(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return set;
}

TEST(CpuPlaces, ThoseThatWaitAreMovedAwayFromOthers) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one CPU";
  runtime::CpuPlaces places;
  std::mutex mutex;
  std::condition_variable change;
  int step = 0;
  const auto reach = [&](int next) {
    const std::lock_guard lock(mutex);
    step = next;
    change.notify_all();
  };
  const auto wait_for = [&](int wanted) {
    std::unique_lock lock(mutex);
    change.wait(lock, [&] { return step == wanted; });
  };
  runtime::CpuPlaces::Member& member = places.add();
  cpu_set_t placed, after;
  std::thread thread([&] {
    wait_for(1);
    member.waits();
    reach(2);
    wait_for(3);
    pthread_getaffinity_np(pthread_self(), sizeof placed, &placed);
    member.works();
    pthread_getaffinity_np(pthread_self(), sizeof after, &after);
  });
  member.is(thread.native_handle());
  const auto run_on = [](pthread_t which, const cpu_set_t& cpus) {
    EXPECT_EQ(pthread_setaffinity_np(which, sizeof cpus, &cpus), 0);
  };
  const pthread_t self = pthread_self(), other = thread.native_handle();
  const cpu_set_t here = only(sched_getcpu());
  run_on(self, here);
  run_on(other, here);
  reach(1);
  wait_for(2);
  run_on(other, all);
  places.spread(sched_getcpu());
  cpu_set_t first;
  pthread_getaffinity_np(other, sizeof first, &first);
  EXPECT_EQ(CPU_COUNT(&first), 1);
  EXPECT_FALSE(CPU_EQUAL(&first, &here));
  // Again, after the caller has come to the same CPU. What the thread may do otherwise is not forgotten.
  run_on(self, first);
  places.spread(sched_getcpu());
  reach(3);
  thread.join();
  run_on(self, all);
  EXPECT_EQ(CPU_COUNT(&placed), 1);
  EXPECT_FALSE(CPU_EQUAL(&placed, &first));
  EXPECT_TRUE(CPU_EQUAL(&after, &all));
}

// Whoever begins alone and waits for the others does not do so for ever, also after a pause.
TEST(ThreadPool, OthersComeByThemselves) {
  for (int round = 0; round < 20; ++round) {
    if (round % 5 == 4) std::this_thread::sleep_for(std::chrono::milliseconds(120));
    std::atomic<unsigned> arrived{0};
    const std::function<void(uint32_t)> work = [&](uint32_t) {
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    };
    runtime::Team(3, work).run(true);
    EXPECT_EQ(arrived, 3u);
  }
}

TEST(ThreadPool, NobodyElseComesToWhatIsShort) {
  unsigned others = 0;
  for (int round = 0; round < 1000; ++round) {
    std::atomic<unsigned> calls{0};
    const std::function<void(uint32_t)> work = [&](uint32_t) { ++calls; };
    runtime::Team(3, work).run(true);
    others += calls - 1;
  }
  EXPECT_LT(others, 500u);  // some may, if the thread is interrupted
}

TEST(ThreadPool, OthersComeWhenTheyAreCalled) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<unsigned> arrived{0};
    runtime::Team* self = nullptr;
    const std::function<void(uint32_t)> work = [&](uint32_t index) {
      ++arrived;
      if (index == 0) self->call_others();
      while (arrived < 3) std::this_thread::yield();
    };
    runtime::Team team(3, work);
    self = &team;
    team.run(true);
    EXPECT_EQ(arrived, 3u);
  }
}

// To call them again changes nothing: each index is taken once, and none after the end.
TEST(ThreadPool, OthersComeOnce) {
  constexpr uint32_t kIndices = 3;
  std::array<std::atomic<unsigned>, 3 * kIndices> calls{};
  std::atomic<unsigned> arrived{0};
  runtime::Team* self = nullptr;
  const std::function<void(uint32_t)> work = [&](uint32_t index) {
    ++calls[std::min<size_t>(index, calls.size() - 1)];
    ++arrived;
    if (index != 0) return;
    self->call_others();
    self->call_others();
    while (arrived < kIndices) std::this_thread::yield();
  };
  runtime::Team team(kIndices, work);
  self = &team;
  team.run(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i], i < kIndices ? 1u : 0u) << i;
}

}  // namespace
}  // namespace wavejit::test
