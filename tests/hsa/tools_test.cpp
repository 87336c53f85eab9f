// Tools: HSA_TOOLS_LIB, tables whose entries they replace, queues that they intercept, librocprofiler-register.
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "fixture.h"
#include "runtime/hsa/api_table.h"
#include "tools_lib/counting_tool.h"

namespace wavejit::test {
namespace {

class ToolsTest : public HsaTest {
 protected:
  void SetUp() override {}  // the variables first
  void TearDown() override {
    if (open_) stop();
    for (const char* name : {"HSA_TOOLS_LIB", "COUNTING_TOOL_REFUSES", "QUEUE_TOOL_DOUBLES", "QUEUE_TOOL_THROWS"})
      unsetenv(name);
  }
  void start(const std::string& tools) {
    setenv("HSA_TOOLS_LIB", tools.c_str(), 1);
    open_ = true;
    HsaTest::SetUp();
  }
  void stop() {
    HsaTest::TearDown();
    queues_.clear();
    signals_.clear();
    memory_.clear();
    open_ = false;
  }
  // Functions of a tool that is loaded, or will be.
  template <typename Function>
  static Function function(const char* library, const char* name) {
    void* handle = dlopen(library, RTLD_LAZY);
    EXPECT_NE(handle, nullptr) << library;
    auto* const found = reinterpret_cast<Function>(dlsym(handle, name));
    EXPECT_NE(found, nullptr) << name;
    return found;
  }

  const CallsOf calls_of_ = function<CallsOf>(WAVEJIT_COUNTING_TOOL, "calls_of");
  const ResetCalls reset_calls_ = function<ResetCalls>(WAVEJIT_COUNTING_TOOL, "reset_calls");
  const SetForwarding set_forwarding_ = function<SetForwarding>(WAVEJIT_COUNTING_TOOL, "set_forwarding");
  const ToolState& state_ = *function<StateOf>(WAVEJIT_COUNTING_TOOL, "state_of")();

 private:
  bool open_ = false;
};

TEST_F(ToolsTest, CountsTheCallsOfTheProgram) {
  const unsigned loads = state_.loads, unloads = state_.unloads;
  start(WAVEJIT_COUNTING_TOOL);
  EXPECT_EQ(state_.loads, loads + 1);
  EXPECT_EQ(state_.runtime_version, 3u);
  EXPECT_EQ(state_.failed_count, 0u);
  EXPECT_EQ(state_.core_bytes, sizeof(hsa::CoreTable));
  EXPECT_EQ(state_.amd_bytes, sizeof(hsa::AmdTable));
  reset_calls_();
  hsa_queue_t* queue = make_queue();
  auto* out = static_cast<uint32_t*>(allocate(256));
  std::memset(out, 0, 256);
  const hsa_signal_t done = signal(1);
  dispatch(queue, kernel("add"), 64, {reinterpret_cast<uint64_t>(out), 5}, done);
  ASSERT_TRUE(completes(done));
  EXPECT_EQ(out[63], 5u);
  EXPECT_EQ(calls_of_("hsa_queue_create"), 1u);
  EXPECT_EQ(calls_of_("hsa_signal_create"), 1u);
  EXPECT_EQ(calls_of_("hsa_signal_store_screlease"), 1u);
  EXPECT_EQ(calls_of_("hsa_signal_wait_scacquire"), 1u);
  EXPECT_EQ(calls_of_("hsa_queue_add_write_index_scacq_screl"), 1u);
  EXPECT_EQ(calls_of_("hsa_executable_get_symbol_by_name"), 1u);
  EXPECT_EQ(calls_of_("hsa_executable_symbol_get_info"), 4u);
  EXPECT_EQ(calls_of_("hsa_amd_memory_pool_allocate"), 2u);
  // What the library's functions call is the library's affair.
  hsa_isa_t isa{};
  HSA(hsa_agent_get_info(gpu_, HSA_AGENT_INFO_ISA, &isa));
  uint32_t length = 0;
  HSA(hsa_isa_get_info(isa, HSA_ISA_INFO_NAME_LENGTH, 0, &length));
  EXPECT_EQ(calls_of_("hsa_isa_get_info"), 1u);
  EXPECT_EQ(calls_of_("hsa_isa_get_info_alt"), 0u);
  // Tables of extensions hold what the tool has put into the library's.
  hsa_ext_images_1_00_pfn_t images{};
  HSA(hsa_system_get_extension_table(HSA_EXTENSION_IMAGES, 1, 0, &images));
  EXPECT_EQ(images.hsa_ext_sampler_destroy(gpu_, {0}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(calls_of_("hsa_ext_sampler_destroy"), 1u);

  stop();
  EXPECT_EQ(state_.unloads, unloads + 1);
  // Without tools the functions are the library's again.
  start("");
  reset_calls_();
  make_queue();
  EXPECT_EQ(calls_of_("hsa_queue_create"), 0u);
  EXPECT_EQ(state_.loads, loads + 1);
}

// Each exported name jumps through its own entry. The tool forwards nothing here: arguments do not matter.
TEST_F(ToolsTest, EveryExportedFunctionGoesThroughItsEntry) {
  start(WAVEJIT_COUNTING_TOOL);
  void* library = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto call = [&](const char* exported, const char* entry) {
    using Any = uint64_t (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    const auto function = reinterpret_cast<Any>(dlsym(library, exported));
    ASSERT_NE(function, nullptr) << exported;
    reset_calls_();
    (void)function(0, 0, 0, 0, 0, 0);
    EXPECT_EQ(calls_of_(entry), 1u) << exported;
  };
  set_forwarding_(false);
  unsigned count = 0;
#define CALL(name) ++count, call(#name, #name);
#define WAVEJIT_HSA_CORE(name) CALL(name)
#define WAVEJIT_HSA_AMD(name) CALL(name)
#define WAVEJIT_HSA_FINALIZER(name) CALL(name)
#define WAVEJIT_HSA_IMAGE(name) CALL(name)
#define WAVEJIT_HSA_PC_SAMPLING(name) CALL(name)
#define WAVEJIT_HSA_OLD_NAME(old_name, name) ++count, call(#old_name, #name);
#include "runtime/hsa/api_functions.def"
  set_forwarding_(true);
  EXPECT_GE(count, 257u);
  dlclose(library);
}

TEST_F(ToolsTest, ToolsThatCannotBeLoadedAreNamedToTheOthers) {
  const unsigned loads = state_.loads;
  start("/no/such/tool.so \"" WAVEJIT_COUNTING_TOOL "\"");
  EXPECT_EQ(state_.loads, loads + 1);
  EXPECT_EQ(state_.failed_count, 1u);
  EXPECT_STREQ(state_.failed_name, "/no/such/tool.so");
}

TEST_F(ToolsTest, ToolsMayRefuse) {
  const unsigned loads = state_.loads, unloads = state_.unloads;
  setenv("COUNTING_TOOL_REFUSES", "1", 1);
  start(WAVEJIT_COUNTING_TOOL);
  EXPECT_EQ(state_.loads, loads + 1);
  stop();
  EXPECT_EQ(state_.unloads, unloads);
}

struct Seen {
  uint64_t packets, dispatches, last_index, inner_packets, markers, marker_index;
};

TEST_F(ToolsTest, InterceptedQueuesShowTheirPackets) {
  setenv("QUEUE_TOOL_DOUBLES", "1", 1);
  start(WAVEJIT_QUEUE_TOOL);
  const auto seen_packets = function<const Seen* (*)()>(WAVEJIT_QUEUE_TOOL, "seen_packets");
  hsa_queue_t* queue = make_queue(16);
  auto* out = static_cast<uint32_t*>(allocate(256));
  std::memset(out, 0, 256);
  const KernelObject add = kernel("add");
  const hsa_signal_t done = signal(50), gate = signal(1), passed = signal(1);
  for (uint32_t i = 0; i < 50; ++i) dispatch(queue, add, 64, {reinterpret_cast<uint64_t>(out), 1}, done);
  ASSERT_TRUE(completes(done));
  EXPECT_EQ(out[63], 75u);  // those of an odd index twice
  EXPECT_EQ(seen_packets()->packets, 50u);
  EXPECT_EQ(seen_packets()->dispatches, 50u);
  EXPECT_EQ(seen_packets()->last_index, 49u);
  EXPECT_EQ(seen_packets()->markers, 50u);
  EXPECT_EQ(seen_packets()->marker_index, 73u);  // of 75 packets, before the last two
  EXPECT_EQ(seen_packets()->inner_packets, 50u + 75u);
  EXPECT_EQ(hsa_queue_load_read_index_scacquire(queue), 50u);
  // Handlers see packets when they are submitted, also behind one that waits.
  hsa_barrier_and_packet_t barrier{};
  barrier.dep_signal[0] = gate;
  barrier.completion_signal = passed;
  write_packet(queue, HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE, &barrier);
  const hsa_signal_t later = signal(1);
  dispatch(queue, add, 64, {reinterpret_cast<uint64_t>(out), 1}, later);
  hsa_signal_store_screlease(gate, 0);
  ASSERT_TRUE(completes(later));
  EXPECT_EQ(hsa_signal_load_scacquire(passed), 0);
  EXPECT_EQ(seen_packets()->packets, 52u);
  EXPECT_EQ(error_.status, HSA_STATUS_SUCCESS);
}

// Errors of packets that tools pass on are the queue's.
TEST_F(ToolsTest, InterceptedQueuesReportErrors) {
  start(WAVEJIT_QUEUE_TOOL);
  hsa_queue_t* queue = make_queue();
  dispatch(queue, KernelObject{.object = 0x1000}, 64, {}, {0});
  ASSERT_TRUE(fails());
  EXPECT_NE(error_.status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(error_.queue, queue);
}

TEST_F(ToolsTest, ExceptionsOfHandlersAreErrorsOfTheQueue) {
  setenv("QUEUE_TOOL_THROWS", "1", 1);
  start(WAVEJIT_QUEUE_TOOL);
  hsa_queue_t* queue = make_queue();
  dispatch(queue, kernel("add"), 64, {0, 1}, {0});
  ASSERT_TRUE(fails());
  EXPECT_EQ(error_.status, HSA_STATUS_ERROR);
  EXPECT_EQ(error_.queue, queue);
}

struct Registration {
  unsigned calls;
  const char* name;
  uint32_t version, import_version;
  hsa::ApiTable* table;
  uint64_t count;
  int answer;
};

// Last: the library stays in the process, and is found from now on.
TEST_F(ToolsTest, RegistersWithRocprofiler) {
  void* library = dlopen(WAVEJIT_FAKE_REGISTER, RTLD_LAZY);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* registration = reinterpret_cast<Registration* (*)()>(dlsym(library, "registration_of"))();
  const unsigned loads = state_.loads;
  registration->answer = 1;  // no tools: the variable's are loaded
  start(WAVEJIT_COUNTING_TOOL);
  EXPECT_EQ(registration->calls, 1u);
  EXPECT_STREQ(registration->name, "hsa");
  EXPECT_EQ(registration->version, registration->import_version);
  EXPECT_EQ(registration->version / 10000, 1u);
  ASSERT_EQ(registration->count, 1u);
  EXPECT_EQ(registration->table->version.major_id, 3u);
  EXPECT_EQ(registration->table->version.minor_id, sizeof(hsa::ApiTable));
  EXPECT_EQ(state_.loads, loads + 1);
  stop();
  registration->answer = 0;  // a tool has the tables
  start(WAVEJIT_COUNTING_TOOL);
  EXPECT_EQ(registration->calls, 2u);
  EXPECT_EQ(state_.loads, loads + 1);
  const auto loads_with = [&](const char* value) {
    stop();
    const unsigned before = state_.loads;
    setenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS", value, 1);
    start(WAVEJIT_COUNTING_TOOL);
    return state_.loads - before;
  };
  for (const char* yes : {"1", "yes", ""}) EXPECT_EQ(loads_with(yes), 1u) << yes;
  for (const char* no : {"0", "000", "Off", "n"}) EXPECT_EQ(loads_with(no), 0u) << no;
  unsetenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS");
  stop();
  setenv("HSA_TOOLS_DISABLE_REGISTER", "1", 1);
  start(WAVEJIT_COUNTING_TOOL);
  EXPECT_EQ(registration->calls, 9u);
  EXPECT_EQ(state_.loads, loads + 5);
  unsetenv("HSA_TOOLS_DISABLE_REGISTER");
}

}  // namespace
}  // namespace wavejit::test
