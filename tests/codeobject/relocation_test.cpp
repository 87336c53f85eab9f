// Every dynamic relocation type, by rewriting the one relocation of a fixture.
#include "support.h"

namespace wavejit::codeobject::test {
namespace {

class Relocation : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = fixture("v4_gfx908.co");
    rela_ = peek<Elf64_Shdr>(bytes_, section_header(bytes_, SHT_RELA)).sh_offset;
    original_ = peek<Elf64_Rela>(bytes_, rela_);
    ASSERT_EQ(ELF64_R_TYPE(original_.r_info), 13u);
  }
  void set(uint32_t type, uint32_t symbol, int64_t addend) {
    poke(
        bytes_, rela_,
        Elf64_Rela{.r_offset = original_.r_offset, .r_info = ELF64_R_INFO(uint64_t{symbol}, type), .r_addend = addend});
  }
  // Loads and returns the 8 bytes that the relocation writes to; `bias_` and `place_` describe the load.
  uint64_t apply() {
    object_ = nullptr;
    auto object = CodeObject::load(bytes_);
    EXPECT_TRUE(object.has_value()) << object.error().message;
    if (!object) return 0;
    object_ = *object;
    bias_ = object_->load_bias();
    place_ = original_.r_offset + bias_;
    return load_at<uint64_t>(place_);
  }
  // Index and value of the dynamic symbol "vector_add".
  std::pair<uint32_t, uint64_t> kernel_symbol() {
    const auto section = peek<Elf64_Shdr>(bytes_, section_header(bytes_, SHT_DYNSYM));
    for (uint32_t i = 1; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = peek<Elf64_Sym>(bytes_, section.sh_offset + i * sizeof(Elf64_Sym));
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) return {i, symbol.st_value};
    }
    ADD_FAILURE();
    return {};
  }

  Bytes bytes_;
  uint64_t rela_ = 0;
  Elf64_Rela original_{};
  std::shared_ptr<const CodeObject> object_;
  uint64_t bias_ = 0, place_ = 0;
};

TEST_F(Relocation, SymbolForms) {
  const auto [index, address] = kernel_symbol();
  set(3, index, 5);  // R_AMDGPU_ABS64
  uint64_t value = apply();
  EXPECT_EQ(value, bias_ + address + 5);
  set(1, index, 5);  // R_AMDGPU_ABS32_LO
  value = apply();
  EXPECT_EQ(value, (bias_ + address + 5) & 0xffffffff);
  set(2, index, 5);  // R_AMDGPU_ABS32_HI
  value = apply();
  EXPECT_EQ(value, (bias_ + address + 5) >> 32);
  set(5, index, 4);  // R_AMDGPU_REL64
  value = apply();
  EXPECT_EQ(value, bias_ + address + 4 - place_);
  set(4, index, 4);  // R_AMDGPU_REL32
  value = apply();
  EXPECT_EQ(value, (bias_ + address + 4 - place_) & 0xffffffff);
  set(10, index, 4);  // R_AMDGPU_REL32_LO
  value = apply();
  EXPECT_EQ(value, (bias_ + address + 4 - place_) & 0xffffffff);
  set(11, index, 4);  // R_AMDGPU_REL32_HI
  value = apply();
  EXPECT_EQ(value, (bias_ + address + 4 - place_) >> 32);
  set(14, index, 0);  // R_AMDGPU_REL16: signed dwords from the next instruction
  value = apply();
  EXPECT_EQ(value, static_cast<uint16_t>(static_cast<int64_t>(bias_ + address - place_ - 4) / 4));
}

TEST_F(Relocation, AddendForms) {
  set(13, 0, 0x40);  // R_AMDGPU_RELATIVE64
  const uint64_t value = apply();
  EXPECT_EQ(value, bias_ + 0x40);
  set(0, 0, 0x40);  // R_AMDGPU_NONE
  EXPECT_EQ(apply(), 0u);
  set(6, 0, 0x12345678);  // R_AMDGPU_ABS32 of no symbol
  EXPECT_EQ(apply(), 0x12345678u);
}

TEST_F(Relocation, Errors) {
  const auto [index, address] = kernel_symbol();
  set(6, index, 0);
  EXPECT_MESSAGE(load_error(bytes_), "does not fit into 32 bits");
  for (const uint32_t type : {7u, 8u, 9u}) {  // GOTPCREL, GOTPCREL32_LO, GOTPCREL32_HI
    set(type, index, 0);
    EXPECT_MESSAGE(load_error(bytes_), "needs a linker");
  }
  set(12, index, 0);
  EXPECT_MESSAGE(load_error(bytes_), "type 12");
  set(99, index, 0);
  EXPECT_MESSAGE(load_error(bytes_), "type 99");
  set(3, 0xffffffff, 0);
  EXPECT_MESSAGE(load_error(bytes_), "does not exist");
  set(14, 0, 0);
  EXPECT_MESSAGE(load_error(bytes_), "out of reach");
  set(3, index, 0);
  for (const uint64_t offset : {uint64_t{0x7fffffff}, ~uint64_t{0}, ~uint64_t{0} - 6}) {
    poke<uint64_t>(bytes_, rela_, offset);
    EXPECT_MESSAGE(load_error(bytes_), "outside the loaded segments");
  }
}

TEST_F(Relocation, UndefinedSymbols) {
  const auto [index, address] = kernel_symbol();
  const auto section = peek<Elf64_Shdr>(bytes_, section_header(bytes_, SHT_DYNSYM));
  const uint64_t at = section.sh_offset + index * sizeof(Elf64_Sym);
  auto symbol = peek<Elf64_Sym>(bytes_, at);
  symbol.st_shndx = SHN_UNDEF;
  poke(bytes_, at, symbol);
  set(3, index, 9);
  EXPECT_MESSAGE(load_error(bytes_), "needs the symbol \"");
  symbol.st_info = ELF64_ST_INFO(STB_WEAK, STT_FUNC);
  poke(bytes_, at, symbol);
  EXPECT_EQ(apply(), 9u);
}

}  // namespace
}  // namespace wavejit::codeobject::test
