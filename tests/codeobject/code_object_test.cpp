// Loads the prebuilt objects of tests/fixtures and checks what they are known to contain.
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

namespace wavejit::codeobject::test {
namespace {

struct Expectation {
  const char* file;
  unsigned version;
  const char* target;
  uint32_t kernarg_size, vgprs, sgprs, agprs, mode;
};

class Fixture : public testing::TestWithParam<Expectation> {};

TEST_P(Fixture, IdentityAndKernels) {
  const auto object = load_fixture(GetParam().file);
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->version(), GetParam().version);
  EXPECT_EQ(object->target().to_string(), GetParam().target);
  ASSERT_EQ(object->kernel_names().size(), 2u);
  EXPECT_EQ(kernel_at(*object, 0).name, "vector_add");
  EXPECT_EQ(kernel_at(*object, 1).name, "all_arguments");
  ASSERT_EQ(object->code().size(), 1u);

  const Kernel& add = kernel_at(*object, 0);
  EXPECT_TRUE(add.has_metadata);
  EXPECT_EQ(add.symbol, GetParam().version == 2 ? "vector_add" : "vector_add.kd");
  EXPECT_EQ(add.required_workgroup_size, (std::array<uint32_t, 3>{64, 1, 1}));
  EXPECT_EQ(add.max_flat_workgroup_size, 64u);
  EXPECT_EQ(add.wavefront_size, 64u);
  EXPECT_EQ(add.descriptor.group_segment_size, 256u);
  EXPECT_EQ(add.descriptor.private_segment_size, 0u);
  EXPECT_EQ(add.descriptor.kernarg_size, 28u);
  EXPECT_TRUE(add.descriptor.enable_kernarg_segment_ptr);
  EXPECT_FALSE(add.descriptor.enable_dispatch_ptr);
  EXPECT_TRUE(add.descriptor.enable_workgroup_id_x);
  EXPECT_FALSE(add.descriptor.enable_workgroup_id_y);
  EXPECT_EQ(add.descriptor.enable_vgpr_workitem_id, 0u);
  EXPECT_EQ(add.descriptor.user_sgpr_count, 6u);  // private segment buffer 4, kernarg pointer 2
  EXPECT_EQ(add.descriptor.mode, GetParam().mode);

  const Kernel& all = kernel_at(*object, 1);
  EXPECT_EQ(all.descriptor.kernarg_size, GetParam().kernarg_size);
  EXPECT_EQ(all.descriptor.vgpr_count, GetParam().vgprs);
  EXPECT_EQ(all.descriptor.sgpr_count, GetParam().sgprs);
  EXPECT_EQ(all.descriptor.agpr_count, GetParam().agprs);
  EXPECT_GE(all.descriptor.private_segment_size, 32u);
  EXPECT_TRUE(all.descriptor.enable_private_segment_buffer);
  EXPECT_TRUE(all.descriptor.enable_flat_scratch_init || GetParam().vgprs == 0);
  EXPECT_GT(all.used_vgpr_count, 0u);
  EXPECT_LE(all.used_vgpr_count, all.descriptor.vgpr_count);
  EXPECT_LE(all.used_sgpr_count, all.descriptor.sgpr_count);
  EXPECT_EQ(all.max_flat_workgroup_size, 256u);
}

TEST_P(Fixture, ExplicitArguments) {
  const auto object = load_fixture(GetParam().file);
  ASSERT_NE(object, nullptr);
  struct Row {
    const char* type;
    uint32_t offset, size;
    ArgKind kind;
    AddressSpace space;
  };
  const bool v6 = GetParam().version == 6;  // LLVM 19 states no address space for images
  const AddressSpace image_space = v6 ? AddressSpace::none : AddressSpace::constant;
  const std::vector<Row> rows = {
      {"char", 0, 1, ArgKind::by_value, AddressSpace::none},
      {"int*", 8, 8, ArgKind::global_buffer, AddressSpace::global},
      {"float*", 16, 4, ArgKind::dynamic_shared_pointer, AddressSpace::local},
      {"pair_t", 24, 16, ArgKind::by_value, AddressSpace::none},
      {"short3", 40, 8, ArgKind::by_value, AddressSpace::none},
      {"image2d_t", 48, 8, ArgKind::image, image_space},
      {"sampler_t", 56, 8, ArgKind::sampler, image_space},
      {"int*", 64, 8, ArgKind::global_buffer, AddressSpace::constant},
  };
  const auto& args = kernel_at(*object, 1).args;
  ASSERT_GE(args.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(args[i].type_name, rows[i].type) << i;
    EXPECT_EQ(args[i].offset, rows[i].offset) << i;
    EXPECT_EQ(args[i].size, rows[i].size) << i;
    EXPECT_EQ(args[i].kind, rows[i].kind) << i;
    EXPECT_EQ(args[i].address_space, rows[i].space) << i;
    EXPECT_FALSE(is_hidden(args[i].kind));
  }
  EXPECT_EQ(args[2].pointee_align, 4u);
}

TEST_P(Fixture, HiddenArguments) {
  const auto object = load_fixture(GetParam().file);
  ASSERT_NE(object, nullptr);
  std::vector<std::pair<std::string_view, uint32_t>> hidden;
  for (const KernelArg& arg : kernel_at(*object, 1).args) {
    if (is_hidden(arg.kind)) hidden.emplace_back(to_string(arg.kind), arg.offset);
  }
  using Row = std::pair<std::string_view, uint32_t>;
  std::vector<Row> expected;
  if (GetParam().version < 5) {
    expected = {Row{"hidden_global_offset_x", 72},
                {"hidden_global_offset_y", 80},
                {"hidden_global_offset_z", 88},
                {"hidden_none", 96},
                {"hidden_none", 104},
                {"hidden_none", 112},
                {"hidden_none", 120}};
  } else {
    // AMDGPUUsage "AMDHSA Code Object V5 Kernel Argument Metadata Map": offsets from the implicit argument pointer
    // (72).
    expected = {Row{"hidden_block_count_x", 72}, {"hidden_block_count_y", 76},    {"hidden_block_count_z", 80},
                {"hidden_group_size_x", 84},     {"hidden_group_size_y", 86},     {"hidden_group_size_z", 88},
                {"hidden_remainder_x", 90},      {"hidden_remainder_y", 92},      {"hidden_remainder_z", 94},
                {"hidden_global_offset_x", 112}, {"hidden_global_offset_y", 120}, {"hidden_global_offset_z", 128},
                {"hidden_grid_dims", 136}};
    if (GetParam().version == 6) expected.emplace_back("hidden_dynamic_lds_size", 192);
  }
  EXPECT_EQ(hidden, expected);
}

TEST_P(Fixture, CodeIsWhereTheDescriptorSays) {
  const auto object = load_fixture(GetParam().file);
  ASSERT_NE(object, nullptr);
  const auto code = object->code()[0];
  for (const size_t i : {0u, 1u}) {
    const Kernel& kernel = kernel_at(*object, i);
    const auto* entry = reinterpret_cast<const uint8_t*>(kernel.descriptor.entry);
    ASSERT_GE(entry, code.data());
    ASSERT_LE(entry + kernel.code_size, code.data() + code.size());
    EXPECT_EQ(kernel.descriptor.entry % 256, 0u);
    // Both kernels end in s_endpgm.
    EXPECT_EQ(load_at<uint32_t>(kernel.descriptor.entry + kernel.code_size - 4), 0xbf810000u);
  }
  ASSERT_EQ(object->functions().size(), 2u);
  EXPECT_EQ(object->functions()[0].address, kernel_at(*object, 0).descriptor.entry);
  EXPECT_EQ(object->functions()[0].size, kernel_at(*object, 0).code_size);
}

TEST_P(Fixture, VariablesAndRelocations) {
  const auto object = load_fixture(GetParam().file);
  ASSERT_NE(object, nullptr);
  const auto counter = object->find_variable("counter");
  const auto pointer = object->find_variable("counter_pointer");
  const auto zeroed = object->find_variable("zeroed");
  const auto weights = object->find_variable("weights");
  ASSERT_TRUE(counter && pointer && zeroed && weights);
  EXPECT_EQ((*counter)->size, 4u);
  EXPECT_TRUE((*counter)->writable);
  EXPECT_EQ(load_at<int>((*counter)->address), 5);
  EXPECT_EQ(load_at<uint64_t>((*pointer)->address), (*counter)->address);  // R_AMDGPU_RELATIVE64
  EXPECT_EQ((*zeroed)->size, 1024u);
  for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(load_at<int>((*zeroed)->address + 4 * i), 0);
  EXPECT_EQ((*weights)->size, 16u);
  EXPECT_EQ(load_at<float>((*weights)->address + 8), 2.5f);
  // The kernel's stores to globals reach memory that stays.
  *reinterpret_cast<int*>((*counter)->address) = 6;
  EXPECT_EQ(load_at<int>((*counter)->address), 6);
}

TEST_P(Fixture, EachLoadHasItsOwnMemory) {
  const auto first = load_fixture(GetParam().file), second = load_fixture(GetParam().file);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->load_bias(), second->load_bias());
  *reinterpret_cast<int*>((*first->find_variable("counter"))->address) = 77;
  EXPECT_EQ(load_at<int>((*second->find_variable("counter"))->address), 5);
}

// Writing to `address` in a child process kills it with SIGSEGV.
void expect_write_faults(uint64_t address) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // also under sanitizers, whose handler would exit
    *reinterpret_cast<volatile uint8_t*>(address) = 1;
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << std::hex << address;
}

TEST_P(Fixture, CodeIsReadOnly) {
  const auto object = load_fixture(GetParam().file);
  ASSERT_NE(object, nullptr);
  expect_write_faults(kernel_at(*object, 0).descriptor.entry);
}

// Constants lie in a read-only segment; copies to symbols store to them.
TEST_P(Fixture, ConstantsAreWritable) {
  const auto object = load_fixture(GetParam().file);
  ASSERT_NE(object, nullptr);
  const auto weights = object->find_variable("weights");
  ASSERT_TRUE(weights);
  EXPECT_TRUE((*weights)->writable);
  *reinterpret_cast<float*>((*weights)->address + 8) = 9.5f;
  EXPECT_EQ(load_at<float>((*weights)->address + 8), 9.5f);
}

// Pages that PT_GNU_RELRO names are the device's to write, too.
TEST_P(Fixture, RelocatedDataIsWritable) {
  const auto object = load_fixture(GetParam().file);
  ASSERT_NE(object, nullptr);
  const auto pointer = object->find_variable("counter_pointer");
  ASSERT_TRUE(pointer);
  EXPECT_TRUE((*pointer)->writable);
  *reinterpret_cast<uint64_t*>((*pointer)->address) = 1;
  EXPECT_EQ(load_at<uint64_t>((*pointer)->address), 1u);
}

TEST_P(Fixture, FindsKernelsByEveryNameAndSuggests) {
  const auto object = load_fixture(GetParam().file);
  ASSERT_NE(object, nullptr);
  const Kernel* add = &kernel_at(*object, 0);
  EXPECT_EQ(object->find_kernel("vector_add").value(), add);
  EXPECT_EQ(object->find_kernel("vector_add.kd").value(), add);
  for (const char* name : {"vectoradd", "vector_ad.kd", "Vector_Add", "add"}) {
    const auto missing = object->find_kernel(name);
    ASSERT_FALSE(missing.has_value()) << name;
    EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
    EXPECT_MESSAGE(missing.error(), "\"vector_add\"");
  }
  const auto variable = object->find_variable("countr");
  ASSERT_FALSE(variable.has_value());
  EXPECT_MESSAGE(variable.error(), "\"counter\"");
}

INSTANTIATE_TEST_SUITE_P(Prebuilt, Fixture,
                         testing::Values(Expectation{"v2_gfx803.co", 2, "gfx803", 128, 8, 24, 0, 0x3c0},
                                         Expectation{"v2_gfx906.co", 2, "gfx906:sramecc-:xnack+", 128, 8, 32, 0, 0x3f0},
                                         Expectation{"v3_gfx900.co", 3, "gfx900:xnack+", 128, 8, 32, 0, 0x3f0},
                                         Expectation{"v4_gfx908.co", 4, "gfx908:sramecc+:xnack-", 128, 8, 32, 8, 0x3f0},
                                         Expectation{"v5_gfx90a.co", 5, "gfx90a", 328, 8, 32, 0, 0x3f0},
                                         Expectation{"v6_gfx9_generic.co", 6, "gfx9-generic", 328, 8, 32, 0, 0x3f0}),
                         [](const auto& param) {
                           return std::string(param.param.file, std::strchr(param.param.file, '.'));
                         });

TEST(CodeObject, KernelWithoutMetadata) {
  const auto object = load_fixture("asm_only_gfx90a.co");
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->target().to_string(), "gfx90a:sramecc+:xnack-");
  ASSERT_EQ(object->kernel_names().size(), 1u);
  const Kernel& kernel = kernel_at(*object, 0);
  EXPECT_EQ(kernel.name, "bare");
  EXPECT_EQ(kernel.symbol, "bare.kd");
  EXPECT_FALSE(kernel.has_metadata);
  EXPECT_TRUE(kernel.args.empty());
  EXPECT_EQ(kernel.max_flat_workgroup_size, 1024u);
  EXPECT_EQ(kernel.code_size, 12u);
  const KernelDescriptor& d = kernel.descriptor;
  EXPECT_EQ(d.group_segment_size, 1234u);
  EXPECT_EQ(d.private_segment_size, 16u);
  EXPECT_EQ(d.kernarg_size, 40u);
  EXPECT_TRUE(d.enable_private_segment_buffer && d.enable_dispatch_ptr && d.enable_kernarg_segment_ptr &&
              d.enable_flat_scratch_init);
  EXPECT_FALSE(d.enable_queue_ptr || d.enable_dispatch_id || d.enable_private_segment_size);
  EXPECT_TRUE(d.enable_private_segment_wave_offset && d.enable_workgroup_id_x && d.enable_workgroup_id_y &&
              d.enable_workgroup_info);
  EXPECT_FALSE(d.enable_workgroup_id_z);
  EXPECT_EQ(d.enable_vgpr_workitem_id, 2u);
  EXPECT_EQ(d.user_sgpr_count, 10u);
  EXPECT_EQ(d.vgpr_count, 40u);
  EXPECT_EQ(d.accum_offset, 24u);
  EXPECT_EQ(d.agpr_count, 16u);
  EXPECT_EQ(d.sgpr_count, 48u);  // 30 + VCC, FLAT_SCRATCH, XNACK_MASK = 36, allocated in 16s
  // Round up / toward zero, denormals flushed in f32 and only in sources of f16/f64, IEEE, FP16_OVFL, division by zero.
  EXPECT_EQ(d.mode, 0x00804200u | 0x8du);
}

TEST(CodeObject, SymbolsWithoutSectionHeaders) {
  // A stripped image: the dynamic symbol table is then found through the dynamic section.
  Bytes bytes = fixture("v4_gfx908.co");
  poke<uint64_t>(bytes, offsetof(Elf64_Ehdr, e_shoff), 0);
  poke<uint16_t>(bytes, offsetof(Elf64_Ehdr, e_shnum), 0);
  auto object = CodeObject::load(bytes);
  ASSERT_TRUE(object.has_value()) << object.error().message;
  ASSERT_EQ((*object)->kernel_names().size(), 2u);
  EXPECT_EQ(kernel_at(**object, 0).code_size, 224u);
}

TEST(CodeObject, RelocatableObjectSaysToLink) {
  const Error error = load_error(fixture("relocatable.o"));
  EXPECT_EQ(error.code, ErrorCode::kBadCodeObject);
  EXPECT_MESSAGE(error, "ld.lld -shared");
}

TEST(CodeObject, OtherAbisAndMachines) {
  Bytes bytes = fixture("v4_gfx908.co");
  bytes[EI_OSABI] = 65;
  EXPECT_EQ(load_error(bytes).code, ErrorCode::kUnsupported);
  EXPECT_MESSAGE(load_error(bytes), "amdpal");
  bytes[EI_OSABI] = 64;
  bytes[EI_ABIVERSION] = 5;
  EXPECT_EQ(load_error(bytes).code, ErrorCode::kUnsupported);
  bytes[EI_ABIVERSION] = 2;
  poke<uint16_t>(bytes, offsetof(Elf64_Ehdr, e_machine), EM_X86_64);
  EXPECT_MESSAGE(load_error(bytes), "machine 62");
}

}  // namespace
}  // namespace wavejit::codeobject::test
