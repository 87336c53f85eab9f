// Gives threads that are about to be woken CPUs of their own.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <deque>

namespace wavejit::runtime {

// Linux wakes a thread on the CPU where it ran last unless it knows of an idle one. In virtual machines it often knows of
// none: KVM marks a virtual CPU that is idle as preempted (`available_idle_cpu` in kernel/sched/sched.h). Then two
// threads share a CPU, and another one idles until the load is balanced, milliseconds later.
//
// So a thread whose last CPU is also that of another one is restricted to a free CPU before it is woken. It takes the
// restriction back itself when it runs: the system may move it at any time.
//
// The caller serialises all calls.
class CpuPlaces {
 public:
  // One thread. Its address stays.
  class Member {
   public:
    // Says which thread it is.
    void is(pthread_t thread) { thread_ = thread; }
    // To be called by the thread itself when it begins to wait for work.
    void waits();
    // To be called by the thread itself when it has been given work.
    void works();

   private:
    friend class CpuPlaces;
    pthread_t thread_{};
    int cpu_ = -1;         // where it was last; -1: not known
    bool busy_ = false;    // has been given work
    bool placed_ = false;  // restricted to cpu_
    cpu_set_t allowed_{};  // its CPUs otherwise, if it is restricted
  };

  // A thread that will run until the process ends, and that begins by waiting. It must exist when spread() is called.
  Member& add() { return members_.emplace_back(); }
  // The last one that was added, if it could not be made.
  void drop_last() { members_.pop_back(); }

  // Finds CPUs for the threads that wait, apart from `used` (-1: not known) and from those of the threads that have work.
  // Where there are fewer CPUs than threads, the system decides about the others.
  void spread(int used);

 private:
  std::deque<Member> members_;
};

}  // namespace wavejit::runtime
