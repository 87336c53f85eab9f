// Executables: variables that the program defines for code objects, and what is refused.
#include <cstring>

#include "fixture.h"

namespace wavejit::test {
namespace {

TEST_F(HsaTest, VariablesOfTheProgram) {
  const std::vector<uint8_t> code = code_object("external");
  hsa_code_object_reader_t reader;
  HSA(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
  hsa_executable_t executable;
  HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  EXPECT_EQ(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT);

  auto* counter = static_cast<uint32_t*>(allocate(256));
  counter[0] = 37;
  HSA(hsa_executable_agent_global_variable_define(executable, gpu_, "shared_counter", counter));
  EXPECT_EQ(hsa_executable_agent_global_variable_define(executable, gpu_, "shared_counter", counter),
            HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
  HSA(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr));
  HSA(hsa_executable_freeze(executable, nullptr));
  EXPECT_EQ(hsa_executable_agent_global_variable_define(executable, gpu_, "another", counter),
            HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
  HSA(hsa_code_object_reader_destroy(reader));

  auto* out = static_cast<uint32_t*>(allocate(256));
  const hsa_signal_t done = signal(1);
  dispatch(make_queue(), kernel(executable, "count"), 1, {reinterpret_cast<uint64_t>(out)}, done);
  ASSERT_TRUE(completes(done));
  EXPECT_EQ(out[0], 42u);
  EXPECT_EQ(counter[0], 42u);
  HSA(hsa_executable_destroy(executable));
}

// As HIP copies to __constant__ variables: with a kernel that stores to them.
TEST_F(HsaTest, KernelsWriteConstants) {
  hsa_executable_symbol_t symbol;
  HSA(hsa_executable_get_symbol_by_name(executable_, "table", &gpu_, &symbol));
  uint64_t table = 0;
  HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &table));
  auto* out = static_cast<uint32_t*>(allocate(64 * sizeof(uint32_t)));
  hsa_queue_t* queue = make_queue();
  const auto read = [&] {
    const hsa_signal_t done = signal(1);
    dispatch(queue, kernel("read_table"), 64, {reinterpret_cast<uint64_t>(out)}, done);
    ASSERT_TRUE(completes(done));
  };
  // Translations of the kernel do not have the constants in them.
  for (int i = 0; i < 20; ++i) read();
  EXPECT_EQ(out[1], 2u);
  EXPECT_EQ(out[2], 3u);
  const hsa_signal_t done = signal(1);
  dispatch(queue, kernel("write_at"), 1, {table, 2}, done);
  ASSERT_TRUE(completes(done));
  read();
  EXPECT_EQ(out[1], 2u);
  EXPECT_EQ(out[2], 1u);
  EXPECT_EQ(error_.status, HSA_STATUS_SUCCESS);
}

TEST_F(HsaTest, BadExecutables) {
  hsa_code_object_reader_t reader;
  const char text[] = "not a code object";
  HSA(hsa_code_object_reader_create_from_memory(text, sizeof text, &reader));
  hsa_executable_t executable;
  HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  EXPECT_EQ(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(hsa_executable_load_agent_code_object(executable, cpu_, reader, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_AGENT);
  HSA(hsa_code_object_reader_destroy(reader));
  EXPECT_EQ(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER);
  HSA(hsa_executable_destroy(executable));
  EXPECT_EQ(hsa_executable_destroy(executable), HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  hsa_executable_symbol_t symbol;
  EXPECT_EQ(hsa_executable_get_symbol_by_name(executable_, "none.kd", &gpu_, &symbol),
            HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
}

}  // namespace
}  // namespace wavejit::test
