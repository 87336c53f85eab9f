// The two metadata syntaxes, from documents written here.
#include "frontend/codeobject/metadata.h"

#include <functional>
#include <msgpack.hpp>

#include "support.h"

namespace wavejit::codeobject::test {
namespace {

ByteView view(std::string_view text) {
  return std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

std::string yaml_error(std::string_view text) {
  const auto kernels = parse_yaml_metadata(view(text), 0x100);
  if (kernels) return "accepted";
  EXPECT_EQ(kernels.error().code, ErrorCode::kBadCodeObject);
  return kernels.error().message;
}

std::string pack(const std::function<void(msgpack::packer<msgpack::sbuffer>&)>& write) {
  msgpack::sbuffer buffer;
  msgpack::packer<msgpack::sbuffer> packer(buffer);
  write(packer);
  return {buffer.data(), buffer.size()};
}
Expected<std::vector<KernelMetadata>> parse_msgpack(ByteView bytes, uint64_t offset) {
  std::vector<KernelNote> notes;
  if (auto found = find_msgpack_kernels(bytes, offset, notes); !found) return forward_error(std::move(found));
  std::vector<KernelMetadata> kernels;
  for (const KernelNote& note : notes) {
    auto kernel = read_msgpack_kernel(note);
    if (!kernel) return forward_error(std::move(kernel));
    EXPECT_EQ(kernel->name, note.name);
    EXPECT_EQ(kernel->symbol, note.symbol);
    kernels.push_back(*std::move(kernel));
  }
  return kernels;
}
std::string msgpack_error(std::string_view bytes) {
  const auto kernels = parse_msgpack(view(bytes), 0x100);
  if (kernels) return "accepted";
  EXPECT_EQ(kernels.error().code, ErrorCode::kBadCodeObject);
  return kernels.error().message;
}

// A document with one kernel with one argument, each field of which can be replaced.
struct Document {
  std::string size = "4", align = "4", kind = "ByValue", space = "Global", kernarg = "64", group = "[ 64, 1, 1 ]",
              name = "k";
  [[nodiscard]] std::string text() const {
    return "---\nVersion: [ 1, 0 ]\nKernels:\n  - Name: '" + name + "'\n    SymbolName: 'k@kd'\n    Attrs:\n" +
           "      ReqdWorkGroupSize: " + group + "\n    Args:\n      - Size: " + size + "\n        Align: " + align +
           "\n        ValueKind: " + kind + "\n        AddrSpaceQual: " + space +
           "\n    CodeProps:\n      KernargSegmentSize: " + kernarg + "\n      KernargSegmentAlign: 8\n...\n";
  }
};

TEST(MetadataYaml, ReadsADocument) {
  const auto kernels = parse_yaml_metadata(view(Document{}.text()), 0);
  ASSERT_TRUE(kernels.has_value()) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 1u);
  const KernelMetadata& kernel = kernels->front();
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.symbol, "k@kd");
  EXPECT_EQ(kernel.kernarg_size, 64u);
  EXPECT_EQ(kernel.required_workgroup_size, (std::array<uint32_t, 3>{64, 1, 1}));
  ASSERT_EQ(kernel.args.size(), 1u);
  EXPECT_EQ(kernel.args[0].address_space, AddressSpace::global);
}

TEST(MetadataYaml, ArgumentsFollowEachOtherWithAlignment) {
  const std::string text =
      "Kernels:\n  - Name: k\n    SymbolName: k@kd\n    Args:\n"
      "      - { Size: 1, Align: 1, ValueKind: ByValue }\n"
      "      - { Size: 12, Align: 16, ValueKind: ByValue }\n"
      "      - { Size: 2, Align: 2, ValueKind: ByValue }\n"
      "      - { Size: 8, Align: 8, ValueKind: HiddenGlobalOffsetX }\n"
      "      - { Size: 8, Align: 8, ValueKind: HiddenMultiGridSyncArg }\n"
      "    CodeProps: { KernargSegmentSize: 48 }\n";
  const auto kernels = parse_yaml_metadata(view(text), 0);
  ASSERT_TRUE(kernels.has_value()) << kernels.error().message;
  std::vector<uint32_t> offsets;
  for (const KernelArg& arg : kernels->front().args) offsets.push_back(arg.offset);
  EXPECT_EQ(offsets, (std::vector<uint32_t>{0, 16, 28, 32, 40}));
  EXPECT_EQ(kernels->front().args[4].kind, ArgKind::hidden_multigrid_sync_arg);
}

TEST(MetadataYaml, EveryWrongFieldIsNamed) {
  Document d;
  EXPECT_NE(yaml_error((d = {}, d.size = "-1", d).text()).find("Size"), std::string::npos);
  EXPECT_NE(yaml_error((d = {}, d.size = "99999999999999999999", d).text()).find("Size"), std::string::npos);
  EXPECT_NE(yaml_error((d = {}, d.align = "3", d).text()).find("Align"), std::string::npos);
  EXPECT_NE(yaml_error((d = {}, d.align = "0", d).text()).find("Align"), std::string::npos);
  EXPECT_NE(yaml_error((d = {}, d.kind = "ByMagic", d).text()).find("ByMagic"), std::string::npos);
  EXPECT_NE(yaml_error((d = {}, d.space = "Outer", d).text()).find("Outer"), std::string::npos);
  EXPECT_NE(yaml_error((d = {}, d.kernarg = "3", d).text()).find("ends at byte 4"), std::string::npos);
  EXPECT_NE(yaml_error((d = {}, d.group = "[ 64, 1 ]", d).text()).find("3 dimensions"), std::string::npos);
  EXPECT_NE(yaml_error((d = {}, d.group = "[ 64, 0, 1 ]", d).text()).find("positive"), std::string::npos);
  EXPECT_NE(yaml_error((d = {}, d.group = "64", d).text()).find("not a list"), std::string::npos);
  EXPECT_NE(yaml_error("Kernels:\n  - SymbolName: k@kd\n").find("has no Name"), std::string::npos);
  EXPECT_NE(yaml_error("Kernels: 7\n").find("not a list"), std::string::npos);
  EXPECT_NE(yaml_error("Kernels: [ 7 ]\n").find("not a map"), std::string::npos);
  EXPECT_NE(yaml_error("[ 1, 2 ]\n").find("not a map"), std::string::npos);
  EXPECT_NE(yaml_error("a: [ 1, 2\nb: }\n").find("not well-formed"), std::string::npos);
}

TEST(MetadataYaml, NestingAndAliasesAreBounded) {
  for (const char* piece : {"[", "{", "- ", "? ", "{a: ", "[{", "!t ", "&a ", "\"", "|\n", "- - ", "*a "}) {
    std::string text;
    for (unsigned i = 0; i < 20000; ++i) text += piece;
    EXPECT_NE(yaml_error(text), "accepted") << piece;
  }
  // libyaml would take hours for these.
  for (const char* piece : {"[", "{", "{a: ", "[{", "[\"]\",", "[#]\n"}) {
    std::string text;
    while (text.size() < 1'000'000) text += piece;
    EXPECT_NE(yaml_error(text).find("100 levels"), std::string::npos) << piece;
  }
  // Ten levels of ten aliases would expand to 10^10 values.
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (unsigned i = 1; i <= 10; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (unsigned j = 0; j < 10; ++j) bomb += (j == 0 ? "*a" : ", *a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_NE(yaml_error(bomb).find("more text than its size"), std::string::npos) << yaml_error(bomb);
  // One long text, named often.
  std::string text = "a: &a " + std::string(100000, 'x') + "\nb: [";
  for (unsigned i = 0; i < 10000; ++i) text += "*a, ";
  EXPECT_NE(yaml_error(text + "]\n").find("more text"), std::string::npos);
}

TEST(MetadataMsgpack, ReadsEveryHiddenKind) {
  const std::vector<ArgKind> kinds = [] {
    std::vector<ArgKind> all;
    for (unsigned i = 0; i <= static_cast<unsigned>(ArgKind::hidden_queue_ptr); ++i)
      all.push_back(static_cast<ArgKind>(i));
    return all;
  }();
  const std::string bytes = pack([&](auto& p) {
    p.pack_map(1).pack("amdhsa.kernels").pack_array(1);
    p.pack_map(4).pack(".name").pack("k").pack(".symbol").pack("k.kd");
    p.pack(".kernarg_segment_size").pack(kinds.size() * 8).pack(".args").pack_array(kinds.size());
    for (size_t i = 0; i < kinds.size(); ++i) {
      p.pack_map(3).pack(".offset").pack(i * 8).pack(".size").pack(8);
      p.pack(".value_kind").pack(std::string(to_string(kinds[i])));
    }
  });
  const auto kernels = parse_msgpack(view(bytes), 0);
  ASSERT_TRUE(kernels.has_value()) << kernels.error().message;
  ASSERT_EQ(kernels->front().args.size(), kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(kernels->front().args[i].kind, kinds[i]) << to_string(kinds[i]);
}

// As GCC states it of kernels without arguments.
TEST(MetadataMsgpack, AlignmentOfNoArguments) {
  const auto parsed = [](unsigned kernarg_bytes) {
    return parse_msgpack(view(pack([&](auto& p) {
                           p.pack_map(1).pack("amdhsa.kernels").pack_array(1);
                           p.pack_map(4).pack(".name").pack("k").pack(".symbol").pack("k.kd");
                           p.pack(".kernarg_segment_size").pack(kernarg_bytes).pack(".kernarg_segment_align").pack(0);
                         })),
                         0);
  };
  const auto kernels = parsed(0);
  ASSERT_TRUE(kernels.has_value()) << kernels.error().message;
  EXPECT_EQ(kernels->front().kernarg_align, KernelMetadata{}.kernarg_align);
  EXPECT_FALSE(parsed(8).has_value());
}

TEST(MetadataMsgpack, SizesThatLieAllocateNothing) {
  using namespace std::string_literals;
  // An array32, map32, str32 or bin32 header that promises 4 Gi elements.
  for (const std::string& bytes : {"\xdd\xff\xff\xff\xff"s, "\xdf\xff\xff\xff\xff"s, "\xdb\xff\xff\xff\xff"s,
                                   "\xc6\xff\xff\xff\xff"s, "\xc9\xff\xff\xff\xff"s}) {
    EXPECT_NE(msgpack_error(bytes).find("cut short"), std::string::npos) << msgpack_error(bytes);
    EXPECT_NE(msgpack_error("\x81\xa1x"s + bytes).find("cut short"), std::string::npos);
  }
  EXPECT_NE(msgpack_error("").find("cannot be read"), std::string::npos);
  EXPECT_NE(msgpack_error("\xc1"s).find("malformed"), std::string::npos);
}

TEST(MetadataMsgpack, NestingAndDensityAreBounded) {
  EXPECT_NE(msgpack_error(std::string(100000, '\x91')).find("nesting"), std::string::npos);
  EXPECT_NE(msgpack_error(std::string(100000, '\x81')).find("nesting"), std::string::npos);
  // 100,000 values in as many bytes: no metadata is that dense.
  const std::string dense = pack([](auto& p) {
    p.pack_map(1).pack("amdhsa.kernels").pack_array(1).pack_map(3);
    p.pack(".name").pack("k").pack(".symbol").pack("k.kd").pack("x").pack_array(100000);
    for (int i = 0; i < 100000; ++i) p.pack(1);
  });
  EXPECT_NE(msgpack_error(dense).find("plausible"), std::string::npos);
}

TEST(MetadataMsgpack, WrongTypesAreNamed) {
  const auto with = [](const std::string& key, const std::function<void(msgpack::packer<msgpack::sbuffer>&)>& value) {
    return msgpack_error(pack([&](auto& p) {
      p.pack_map(1).pack("amdhsa.kernels").pack_array(1).pack_map(3);
      p.pack(".name").pack("k").pack(".symbol").pack("k.kd").pack(key);
      value(p);
    }));
  };
  EXPECT_NE(with(".sgpr_count", [](auto& p) { p.pack(-1); }).find(".sgpr_count"), std::string::npos);
  EXPECT_NE(with(".sgpr_count", [](auto& p) { p.pack(1.5); }).find(".sgpr_count"), std::string::npos);
  EXPECT_NE(with(".sgpr_count", [](auto& p) { p.pack(uint64_t{1} << 32); }).find(".sgpr_count"), std::string::npos);
  EXPECT_NE(with(".args", [](auto& p) { p.pack("x"); }).find(".args"), std::string::npos);
  EXPECT_NE(with(".uses_dynamic_stack", [](auto& p) { p.pack("maybe"); }).find(".uses_dynamic_stack"),
            std::string::npos);
  EXPECT_NE(with(".kernarg_segment_align", [](auto& p) { p.pack(12); }).find("power of two"), std::string::npos);
  EXPECT_EQ(with(".vgpr_count", [](auto& p) { p.pack(12); }), "accepted");
}

}  // namespace
}  // namespace wavejit::codeobject::test
