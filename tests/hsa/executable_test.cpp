// Executables: variables that the program defines for code objects, and what is refused.
#include <hsa/hsa_ven_amd_loader.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

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

// As HSA 1.0 loads code objects, with a copy of the image.
TEST_F(HsaTest, CodeObjectsWithoutReaders) {
  std::vector<uint8_t> code = code_object("kernels");
  hsa_code_object_t object;
  EXPECT_EQ(hsa_code_object_deserialize(nullptr, code.size(), nullptr, &object), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_code_object_deserialize(code.data(), 0, nullptr, &object), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  HSA(hsa_code_object_deserialize(code.data(), code.size(), nullptr, &object));
  std::ranges::fill(code, uint8_t{0});
  hsa_executable_t executable;
  HSA(hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_UNFROZEN, nullptr, &executable));
  EXPECT_EQ(hsa_executable_load_code_object(executable, gpu_, {object.handle + 1}, nullptr),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(hsa_executable_load_code_object(executable, cpu_, object, nullptr), HSA_STATUS_ERROR_INVALID_AGENT);
  HSA(hsa_executable_load_code_object(executable, gpu_, object, nullptr));
  HSA(hsa_executable_freeze(executable, nullptr));
  const KernelObject add = kernel(executable, "add");
  EXPECT_EQ(add.kernarg_bytes % 16, 12u);  // a pointer and an int, not rounded up
  auto* out = static_cast<uint32_t*>(allocate(256));
  const hsa_signal_t done = signal(1);
  dispatch(make_queue(), add, 64, {reinterpret_cast<uint64_t>(out), 3}, done);
  ASSERT_TRUE(completes(done));
  EXPECT_EQ(out[0], 3u);
  HSA(hsa_executable_destroy(executable));
  HSA(hsa_code_object_destroy(object));
  EXPECT_EQ(hsa_code_object_destroy(object), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
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

TEST_F(HsaTest, SymbolsByNameAndAgent) {
  hsa_executable_t executable;
  HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  uint32_t words[3] = {};
  HSA(hsa_executable_global_variable_define(executable, "word", &words[0]));
  HSA(hsa_executable_agent_global_variable_define(executable, gpu_, "word", &words[1]));
  HSA(hsa_executable_readonly_variable_define(executable, cpu_, "word", &words[2]));
  HSA(hsa_executable_freeze(executable, nullptr));
  const hsa_agent_t* agents[] = {nullptr, &gpu_, &cpu_};
  for (int i = 0; i < 3; ++i) {
    hsa_executable_symbol_t symbol;
    HSA(hsa_executable_get_symbol_by_name(executable, "word", agents[i], &symbol));
    uint64_t address = 0;
    HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address));
    EXPECT_EQ(address, reinterpret_cast<uint64_t>(&words[i]));
    bool constant = false;
    HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST, &constant));
    EXPECT_EQ(constant, i == 2);
  }
  hsa_executable_symbol_t symbol;
  EXPECT_EQ(hsa_executable_get_symbol_by_name(executable_, "table", nullptr, &symbol),
            HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
  HSA(hsa_executable_get_symbol_by_name(executable_, "table", &gpu_, &symbol));
  bool constant = false;
  HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST, &constant));
  EXPECT_TRUE(constant);
  // libamdhip64 asks it of kernels, too.
  HSA(hsa_executable_get_symbol_by_name(executable_, "add.kd", &gpu_, &symbol));
  EXPECT_EQ(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST, &constant),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  HSA(hsa_executable_destroy(executable));
}

// A kernel object is the address of the kernel's descriptor.
TEST_F(HsaTest, KernelObjectsAreDescriptors) {
  const uint64_t object = kernel("notify").object;
  uint32_t group_bytes = 1, kernarg_bytes = 0;
  std::memcpy(&group_bytes, reinterpret_cast<const void*>(object), 4);
  std::memcpy(&kernarg_bytes, reinterpret_cast<const void*>(object + 8), 4);
  EXPECT_EQ(group_bytes, 0u);
  EXPECT_EQ(kernarg_bytes, 8u);
}

// A kernel whose metadata is malformed is found, and an error where somebody needs the metadata; the others run.
TEST_F(HsaTest, MalformedKernels) {
  std::vector<uint8_t> code = code_object("kernels");
  const auto find = [&](std::string_view text, size_t from) {
    const auto at = std::search(code.begin() + static_cast<ptrdiff_t>(from), code.end(), text.begin(), text.end());
    EXPECT_NE(at, code.end()) << text;
    return static_cast<size_t>(at - code.begin());
  };
  // The name of a kernel follows its arguments in the metadata.
  const size_t kind = find("global_buffer", 0), symbol = find(".kd", find(".symbol", kind));
  size_t name = symbol;
  while (code[name - 1] > ' ' && code[name - 1] < 0x7f) --name;
  const std::string bad(code.begin() + static_cast<ptrdiff_t>(name), code.begin() + static_cast<ptrdiff_t>(symbol + 3));
  code[kind] = 'G';
  hsa_code_object_reader_t reader;
  HSA(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
  hsa_executable_t executable;
  HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  HSA(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr));
  HSA(hsa_executable_freeze(executable, nullptr));
  hsa_executable_symbol_t found;
  HSA(hsa_executable_get_symbol_by_name(executable, bad.c_str(), &gpu_, &found));
  uint64_t object = 0;
  HSA(hsa_executable_symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
  uint32_t bytes = 0;
  EXPECT_EQ(hsa_executable_symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &bytes),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  hsa_queue_t* queue = make_queue();
  dispatch(queue, {.object = object}, 64, {}, signal(1));
  ASSERT_TRUE(fails());
  EXPECT_EQ(error_.queue, queue);
  EXPECT_NE(error_.status, HSA_STATUS_SUCCESS);
  HSA(hsa_code_object_reader_destroy(reader));
  HSA(hsa_executable_destroy(executable));
}

TEST_F(HsaTest, BadSymbols) {
  std::vector<uint64_t> symbols;
  const auto iterate = [&](hsa_executable_t executable) {
    symbols.clear();
    return hsa_executable_iterate_symbols(
        executable,
        [](hsa_executable_t, hsa_executable_symbol_t symbol, void* all) {
          static_cast<std::vector<uint64_t>*>(all)->push_back(symbol.handle);
          return HSA_STATUS_SUCCESS;
        },
        &symbols);
  };
  const auto query = [](uint64_t handle) {
    hsa_symbol_kind_t kind;
    return hsa_executable_symbol_get_info({handle}, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
  };
  HSA(iterate(executable_));
  ASSERT_GE(symbols.size(), 8u);
  const std::vector<uint64_t> good = symbols;
  for (const uint64_t handle : good) EXPECT_EQ(query(handle), HSA_STATUS_SUCCESS);
  // Next to good ones, numbers that are no addresses, and addresses.
  for (const uint64_t handle : good)
    for (const uint64_t flip : {uint64_t{1} << 63, uint64_t{1} << 33, uint64_t{1} << 31, uint64_t{1} << 23})
      EXPECT_EQ(query(handle ^ flip), HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);
  for (const uint64_t handle : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, uint64_t{UINT32_MAX},
                                uint64_t{1} << 32 | 4000000000u, reinterpret_cast<uint64_t>(&symbols)})
    EXPECT_EQ(query(handle), HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);

  // Symbols of a destroyed executable, also once others have their places.
  hsa_executable_t executable;
  uint32_t word = 0;
  std::vector<uint64_t> gone;
  for (int round = 0; round < 3; ++round) {
    HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
    HSA(hsa_executable_agent_global_variable_define(executable, gpu_, "word", &word));
    HSA(iterate(executable));
    ASSERT_EQ(symbols.size(), 1u);
    EXPECT_EQ(query(symbols[0]), HSA_STATUS_SUCCESS);
    for (const uint64_t handle : gone) EXPECT_EQ(query(handle), HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);
    HSA(hsa_executable_destroy(executable));
    gone.push_back(symbols[0]);
    EXPECT_EQ(query(gone.back()), HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);
  }
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

TEST_F(HsaTest, ExecutablesAreListed) {
  hsa_ven_amd_loader_1_03_pfn_t loader{};
  HSA(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof loader, &loader));
  uint64_t wanted = executable_.handle;
  const auto look = [](hsa_executable_t executable, void* handle) {
    auto& left = *static_cast<uint64_t*>(handle);
    if (executable.handle != left) return HSA_STATUS_SUCCESS;
    left = 0;
    return HSA_STATUS_INFO_BREAK;
  };
  EXPECT_EQ(loader.hsa_ven_amd_loader_iterate_executables(look, &wanted), HSA_STATUS_INFO_BREAK);
  EXPECT_EQ(wanted, 0u);
  EXPECT_EQ(loader.hsa_ven_amd_loader_iterate_executables(nullptr, &wanted), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace wavejit::test
