// What debuggers and profilers find code objects by: URIs, and the list _amdgpu_r_debug.
#include <dlfcn.h>
#include <fcntl.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <span>

#include "fixture.h"

namespace wavejit::test {
namespace {

const r_debug& debug() {
  const auto* found = static_cast<const r_debug*>(dlsym(RTLD_DEFAULT, "_amdgpu_r_debug"));
  EXPECT_NE(found, nullptr);
  return *found;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  const link_map* before = nullptr;
  for (const link_map* entry = debug().r_map; entry; before = entry, entry = entry->l_next) {
    EXPECT_EQ(entry->l_prev, before);
    all.push_back(entry->l_name);
  }
  return all;
}

std::string uri_of(hsa_executable_t executable) {
  hsa_ven_amd_loader_1_01_pfn_t loader{};
  EXPECT_EQ(hsa_system_get_extension_table(HSA_EXTENSION_AMD_LOADER, 1, 1, &loader), HSA_STATUS_SUCCESS);
  hsa_loaded_code_object_t object{};
  EXPECT_EQ(loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
                executable,
                [](hsa_executable_t, hsa_loaded_code_object_t o, void* out) {
                  *static_cast<hsa_loaded_code_object_t*>(out) = o;
                  return HSA_STATUS_SUCCESS;
                },
                &object),
            HSA_STATUS_SUCCESS);
  uint32_t length = 0;
  EXPECT_EQ(loader.hsa_ven_amd_loader_loaded_code_object_get_info(
                object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH, &length),
            HSA_STATUS_SUCCESS);
  std::string uri(length, '\0');
  EXPECT_EQ(loader.hsa_ven_amd_loader_loaded_code_object_get_info(
                object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI, uri.data()),
            HSA_STATUS_SUCCESS);
  return uri;
}

TEST_F(HsaTest, CodeObjectsOfMemoryAreListed) {
  char expected[100];
  std::snprintf(expected, sizeof expected, "memory://%d#offset=%p&size=%zu", getpid(),
                static_cast<const void*>(code_.data()), code_.size());
  EXPECT_EQ(uri_of(executable_), expected);
  EXPECT_EQ(debug().r_version, 11);
  EXPECT_EQ(debug().r_state, r_debug::RT_CONSISTENT);
  EXPECT_EQ(names(), std::vector<std::string>{expected});
}

TEST_F(HsaTest, IterationEndsWithTheCallersError) {
  hsa_ven_amd_loader_1_01_pfn_t loader{};
  HSA(hsa_system_get_extension_table(HSA_EXTENSION_AMD_LOADER, 1, 1, &loader));
  hsa_executable_t executable;
  HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  HSA(hsa_executable_agent_global_variable_define(executable, gpu_, "shared_counter", allocate(256)));
  const std::vector<uint8_t> other = code_object("external");
  for (const std::span<const uint8_t> code : {std::span<const uint8_t>(code_), std::span<const uint8_t>(other)}) {
    hsa_code_object_reader_t reader;
    HSA(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
    HSA(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr));
    HSA(hsa_code_object_reader_destroy(reader));
  }
  HSA(hsa_executable_freeze(executable, nullptr));
  struct Calls {
    unsigned count;
    hsa_status_t answer;
  };
  const auto iterate = [&](Calls& calls) {
    return loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
        executable,
        [](hsa_executable_t, hsa_loaded_code_object_t, void* data) {
          auto& seen = *static_cast<Calls*>(data);
          ++seen.count;
          return seen.answer;
        },
        &calls);
  };
  Calls all{0, HSA_STATUS_SUCCESS}, first{0, HSA_STATUS_INFO_BREAK};
  EXPECT_EQ(iterate(all), HSA_STATUS_SUCCESS);
  EXPECT_EQ(all.count, 2u);
  EXPECT_EQ(iterate(first), HSA_STATUS_INFO_BREAK);
  EXPECT_EQ(first.count, 1u);
  HSA(hsa_executable_destroy(executable));
}

TEST_F(HsaTest, CodeObjectsOfFilesAreListedWhileTheyAreLoaded) {
  const std::string path = testing::TempDir() + "wavejit code%object.co";
  std::FILE* file = std::fopen(path.c_str(), "w+");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fwrite(code_.data(), 1, code_.size(), file), code_.size());
  std::fflush(file);
  hsa_code_object_reader_t reader;
  HSA(hsa_code_object_reader_create_from_file(fileno(file), &reader));
  hsa_executable_t executable;
  HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  HSA(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr));
  EXPECT_EQ(names().size(), 1u);  // that of the fixture: this one is not frozen
  HSA(hsa_executable_freeze(executable, nullptr));
  const std::string uri = uri_of(executable);
  EXPECT_TRUE(uri.starts_with("file:///")) << uri;
  EXPECT_TRUE(uri.ends_with("/wavejit%20code%25object.co#offset=0&size=" + std::to_string(code_.size()))) << uri;
  ASSERT_EQ(names().size(), 2u);
  EXPECT_EQ(names()[1], uri);
  HSA(hsa_executable_destroy(executable));
  HSA(hsa_code_object_reader_destroy(reader));
  EXPECT_EQ(names().size(), 1u);
  std::fclose(file);
  unlink(path.c_str());
}

}  // namespace
}  // namespace wavejit::test
