// wavejit_lift_file FILE...: lifts every kernel and function of the code objects and reports what is unsupported.
// With --ir NAME, prints the IR of that kernel or function.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string_view>

#include "frontend/codeobject/code_object.h"
#include "frontend/codeobject/containers.h"
#include "frontend/lift/lifter.h"
#include "ir/pass.h"
#include "ir/text.h"

using namespace wavejit;

int main(int argc, char** argv) {
  std::string_view wanted;
  bool optimise = false;
  std::map<std::string, unsigned> unsupported_count;
  unsigned units = 0, failures = 0;
  uint64_t instructions = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--ir" && i + 1 < argc) {
      wanted = argv[++i];
      continue;
    }
    if (std::string_view(argv[i]) == "--optimise") {
      optimise = true;
      continue;
    }
    const auto container = codeobject::Container::open(argv[i]);
    if (!container) {
      fmt::print(stderr, "{}: {}\n", argv[i], container.error().message);
      ++failures;
      continue;
    }
    for (const codeobject::ContainerEntry& entry : (*container)->entries()) {
      if (entry.triple.find("amdgcn") == std::string::npos || entry.triple.find("gfx1") != std::string::npos) continue;
      const auto object = codeobject::CodeObject::load(entry.bytes);
      if (!object) {
        fmt::print(stderr, "{}: {}\n", argv[i], object.error().message);
        ++failures;
        continue;
      }
      const auto target = isa::parse_target((*object)->target().processor);
      if (!target) {
        fmt::print(stderr, "{}: target {}\n", argv[i], (*object)->target().processor);
        ++failures;
        continue;
      }
      const auto lift_one = [&](const std::string_view name, uint64_t pc, const codeobject::KernelDescriptor* kernel) {
        for (const std::span<const uint8_t> code : (*object)->code()) {
          const uint64_t base = reinterpret_cast<uint64_t>(code.data());
          if (pc < base || pc >= base + code.size()) continue;
          lift::LiftOptions options{
              .target = *target, .name = std::string(name), .entry_pc = pc, .code = code, .code_base = base};
          options.mode = kernel ? kernel->mode : 0x3f0;
          options.is_kernel_entry = kernel != nullptr;
          options.exec_full = true;
          if (kernel && kernel->enable_private_segment_buffer) options.scratch_srd_sgpr = 0;
          std::vector<lift::Unsupported> unsupported;
          auto result = lift::lift(options, &unsupported);
          if (!result) {
            fmt::print(stderr, "{}: {}: {}\n", argv[i], name, result.error().message);
            ++failures;
            continue;
          }
          ++units;
          instructions += result->guest_instructions;
          for (const lift::Unsupported& u : unsupported) ++unsupported_count[u.what.substr(0, u.what.find(' '))];
          if (name == wanted) {
            if (optimise) ir::optimise(*result->function, {.verify = true});
            fmt::print("{}\n", ir::print(*result->function));
          }
        }
      };
      for (size_t k = 0; k < (*object)->kernel_names().size(); ++k) {
        const codeobject::KernelDescriptor descriptor = (*object)->descriptor(k);
        lift_one((*object)->kernel_names()[k].name, descriptor.entry, &descriptor);
      }
      for (const codeobject::FunctionSymbol& function : (*object)->functions())
        lift_one(function.name, function.address, nullptr);
    }
  }
  fmt::print(stderr, "{} units, {} instructions, {} failures\n", units, instructions, failures);
  for (const auto& [what, count] : unsupported_count) fmt::print(stderr, "unsupported {} x {}\n", what, count);
  return failures || !unsupported_count.empty();
}
