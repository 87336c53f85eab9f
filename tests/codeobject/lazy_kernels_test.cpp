// Kernels are decoded when they are first asked for: by many threads at once, and with an error for a malformed one.
#include <algorithm>
#include <string_view>
#include <thread>

#include "support.h"

namespace wavejit::codeobject::test {
namespace {

// Replaces a text of the file by another of its length.
Bytes with(Bytes bytes, std::string_view text, std::string_view other) {
  EXPECT_EQ(text.size(), other.size());
  const Bytes wanted(text.begin(), text.end());
  const auto at = std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end());
  EXPECT_NE(at, bytes.end());
  if (at != bytes.end()) std::copy(other.begin(), other.end(), at);
  return bytes;
}

TEST(LazyKernels, MalformedMetadataOfOneKernelIsItsErrorAlone) {
  const auto object =
      CodeObject::load(with(fixture("v4_gfx908.co"), "dynamic_shared_pointer", "dynamic_shared_pixies!"));
  ASSERT_TRUE(object.has_value()) << object.error().message;
  EXPECT_EQ((*object)->kernel_names().size(), 2u);
  EXPECT_TRUE((*object)->find_kernel("vector_add").has_value());
  for (int i = 0; i < 2; ++i) {
    const auto kernel = (*object)->find_kernel("all_arguments");
    ASSERT_FALSE(kernel.has_value());
    EXPECT_EQ(kernel.error().code, ErrorCode::kBadCodeObject);
    EXPECT_EQ(kernel.error().kernel, "all_arguments");
    EXPECT_MESSAGE(kernel.error(), "all_arguments");
    EXPECT_MESSAGE(kernel.error(), "dynamic_shared_pixies!");
  }
  const auto all = decode_kernels(**object);
  ASSERT_FALSE(all.has_value());
  EXPECT_EQ(all.error().kernel, "all_arguments");
  // What the descriptor says needs no metadata.
  EXPECT_NE((*object)->descriptor(1).entry, 0u);
}

TEST(LazyKernels, MalformedStructureIsAnErrorOfLoading) {
  EXPECT_MESSAGE(load_error(with(fixture("v4_gfx908.co"), "amdhsa.kernels\x92", "amdhsa.kernels\x95")), "not a map");
  EXPECT_MESSAGE(load_error(with(fixture("v4_gfx908.co"), "amdhsa.kernels\x92", "amdhsa.kernels\xc1")),
                 "metadata note");
  EXPECT_MESSAGE(load_error(with(fixture("v4_gfx908.co"), "\xa7.symbol", "\xa7.simbol")), "has no .symbol");
  EXPECT_MESSAGE(load_error(with(fixture("v4_gfx908.co"), "vector_add.kd", "vector_odd.kd")), "does not have");
}

TEST(LazyKernels, FoundByAddress) {
  const auto object = load_fixture("v4_gfx908.co");
  for (size_t i = 0; i < 2; ++i) {
    const KernelName& name = object->kernel_names()[i];
    EXPECT_EQ(object->kernel_at(name.object), i);
    EXPECT_EQ(object->kernel_at(name.object + 1), std::nullopt);
    const Kernel& kernel = kernel_at(*object, i);
    const auto function = object->function_at(kernel.descriptor.entry + 4);
    ASSERT_TRUE(function.has_value());
    EXPECT_EQ(function->name, kernel.name);
    EXPECT_EQ(function->address, kernel.descriptor.entry);
  }
  EXPECT_EQ(object->function_at(0), std::nullopt);
}

TEST(LazyKernels, DecodedOnceForAllThreads) {
  for (int round = 0; round < 20; ++round) {
    const auto object = load_fixture("v5_gfx90a.co");
    const size_t count = object->kernel_names().size();
    std::vector<std::vector<const Kernel*>> found(4, std::vector<const Kernel*>(count));
    std::vector<std::thread> threads;
    for (size_t t = 0; t < found.size(); ++t)
      threads.emplace_back([&, t] {
        for (size_t i = 0; i < count; ++i) {
          const size_t index = t % 2 == 0 ? i : count - 1 - i;
          found[t][index] = object->kernel(index).value_or(nullptr);
          EXPECT_EQ(object->find_kernel(object->kernel_names()[index].symbol).value_or(nullptr), found[t][index]);
          EXPECT_EQ(object->kernel_at(object->kernel_names()[index].object), index);
          EXPECT_TRUE(object->function_at(found[t][index]->descriptor.entry).has_value());
          EXPECT_EQ(object->descriptor(index).entry, found[t][index]->descriptor.entry);
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const auto& other : found) EXPECT_EQ(other, found[0]);
  }
}

}  // namespace
}  // namespace wavejit::codeobject::test
