// Signals of several processes.
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include "fixture.h"

extern char** environ;

namespace wavejit::test {
namespace {

hsa_signal_t shared_signal(hsa_signal_value_t value) {
  hsa_signal_t result{};
  EXPECT_EQ(hsa_amd_signal_create(value, 0, nullptr, HSA_AMD_SIGNAL_IPC, &result), HSA_STATUS_SUCCESS);
  return result;
}

std::string handle_text(hsa_signal_t signal) {
  hsa_amd_ipc_signal_t handle;
  EXPECT_EQ(hsa_amd_ipc_signal_create(signal, &handle), HSA_STATUS_SUCCESS);
  return in_digits(handle);
}

bool becomes(hsa_signal_t signal, hsa_signal_value_t value) {
  return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, value, 50'000'000'000, HSA_WAIT_STATE_BLOCKED) ==
         value;
}

// For the other process to be asleep when the signal changes.
void give_time() {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

TEST_F(HsaTest, SignalsOfTwoProcesses) {
  const hsa_signal_t ping = shared_signal(1), pong = shared_signal(0), last = shared_signal(1);
  std::string arguments[] = {WAVEJIT_HSA_IPC_CHILD, handle_text(ping), handle_text(pong), handle_text(last)};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), arguments[3].data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, argv[0], nullptr, nullptr, argv, environ), 0);
  EXPECT_TRUE(becomes(pong, 1));
  give_time();
  hsa_signal_store_screlease(ping, 2);
  EXPECT_TRUE(becomes(pong, 2));
  give_time();
  hsa_signal_add_screlease(ping, 1);
  EXPECT_TRUE(becomes(pong, 3));
  give_time();
  hsa_signal_store_screlease(ping, 4);
  EXPECT_TRUE(becomes(pong, 5));
  give_time();
  EXPECT_EQ(hsa_signal_load_scacquire(last), 1);
  hsa_signal_store_screlease(ping, 0);
  EXPECT_TRUE(becomes(last, 0));
  EXPECT_EQ(hsa_signal_destroy(ping), HSA_STATUS_SUCCESS);
  hsa_signal_store_screlease(pong, 6);
  EXPECT_TRUE(becomes(pong, 7));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the step that failed";
  EXPECT_EQ(hsa_signal_destroy(pong), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_signal_destroy(last), HSA_STATUS_SUCCESS);
}

TEST_F(HsaTest, SharedSignalAttachedInItsOwnProcess) {
  const hsa_signal_t first = shared_signal(5);
  hsa_amd_ipc_signal_t handle;
  HSA(hsa_amd_ipc_signal_create(first, &handle));
  hsa_signal_t second{};
  HSA(hsa_amd_ipc_signal_attach(&handle, &second));
  EXPECT_EQ(hsa_signal_load_scacquire(second), 5);
  std::thread waiter([&] { EXPECT_TRUE(becomes(second, 6)); });
  give_time();
  hsa_signal_add_screlease(first, 1);
  waiter.join();
  HSA(hsa_signal_destroy(first));
  EXPECT_EQ(hsa_signal_load_scacquire(second), 6);
  // One that was attached can be given on.
  HSA(hsa_amd_ipc_signal_create(second, &handle));
  hsa_signal_t third{};
  HSA(hsa_amd_ipc_signal_attach(&handle, &third));
  HSA(hsa_signal_destroy(second));
  EXPECT_EQ(hsa_signal_load_scacquire(third), 6);
  HSA(hsa_signal_destroy(third));
}

TEST_F(HsaTest, SharedSignalsAreGivenBack) {
  const size_t files = open_files();
  const hsa_signal_t kept = shared_signal(1);
  hsa_signal_t before{};
  for (int i = 0; i < 3000; ++i) {
    const hsa_signal_t one = shared_signal(i);
    ASSERT_EQ(hsa_signal_load_relaxed(one), i);
    ASSERT_TRUE(i == 0 || one.handle == before.handle);
    HSA(hsa_signal_destroy(one));
    ASSERT_EQ(hsa_signal_destroy(one), HSA_STATUS_ERROR_INVALID_SIGNAL);
    before = one;
  }
  EXPECT_EQ(hsa_signal_load_relaxed(kept), 1);
  HSA(hsa_signal_destroy(kept));
  EXPECT_EQ(open_files(), files);
}

TEST_F(HsaTest, WhatIsNoSharedSignal) {
  hsa_amd_ipc_signal_t handle{};
  hsa_signal_t attached{};
  EXPECT_EQ(hsa_amd_ipc_signal_create(signal(1), &handle), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_ipc_signal_create({0}, &handle), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_ipc_signal_attach(&handle, &attached), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_ipc_signal_attach(nullptr, &attached), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const hsa_signal_t shared = shared_signal(1);
  EXPECT_EQ(hsa_amd_ipc_signal_create(shared, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  HSA(hsa_amd_ipc_signal_create(shared, &handle));
  void* memory = nullptr;
  EXPECT_EQ(hsa_amd_ipc_memory_attach(&handle, 64, 1, &gpu_, &memory), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  HSA(hsa_signal_destroy(shared));
  EXPECT_EQ(hsa_amd_ipc_signal_attach(&handle, &attached), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  HSA(hsa_amd_ipc_memory_create(allocate(4096), 4096, &handle));
  EXPECT_EQ(hsa_amd_ipc_signal_attach(&handle, &attached), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace wavejit::test
