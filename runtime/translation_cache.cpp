#include "runtime/translation_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "frontend/lift/lifter.h"
#include "ir/pass.h"

namespace wavejit::runtime {

struct TranslationCache::Unit {
  std::once_flag once;
  std::shared_ptr<const backend::CompiledCode> code;
  std::vector<uint64_t> entry_pcs;
  Error error;  // when `code` is null
};

TranslationCache::TranslationCache(std::shared_ptr<const codeobject::CodeObject> object, isa::Target target)
    : object_(std::move(object)), target_(target) {}
TranslationCache::~TranslationCache() = default;

uint32_t TranslationCache::config_id(const Config& config) {
  const std::unique_lock lock(mutex_);
  for (uint32_t i = 0; i < configs_.size(); ++i)
    if (configs_[i].tier == config.tier && configs_[i].disabled_passes == config.disabled_passes) return i;
  configs_.push_back(config);
  return static_cast<uint32_t>(configs_.size() - 1);
}

std::shared_ptr<TranslationCache::Unit> TranslationCache::unit_for(const Key& key) {
  const std::unique_lock lock(mutex_);
  std::shared_ptr<Unit>& unit = units_[key];
  if (!unit) unit = std::make_shared<Unit>();
  return unit;
}

void TranslationCache::translate(Unit& unit, const Key& key, bool is_kernel_entry, TranslationCounters& counters) {
  const auto start = std::chrono::steady_clock::now();
  const auto [config_index, pc, mode, exec_full] = key;
  Config config;
  {
    const std::shared_lock lock(mutex_);
    config = configs_[config_index];
  }
  const std::span<const uint8_t> region = code_region(*object_, pc);
  if (region.empty() || pc % 4 != 0) {
    unit.error = {.code = ErrorCode::kIllegalInstruction,
                  .message = fmt::format("Control flow reached {:#x}, which is not code.", pc),
                  .pc = pc};
    return;
  }
  lift::LiftOptions options;
  options.target = target_;
  options.name = symbolise(*object_, pc);
  options.entry_pc = pc;
  options.code = region;
  options.code_base = reinterpret_cast<uint64_t>(region.data());
  options.mode = mode;
  options.exec_full = exec_full;
  options.is_kernel_entry = is_kernel_entry;
  // The private segment buffer, where a kernel has it, is in the first user SGPRs (AMDGPUUsage, "Initial Kernel Execution
  // State").
  for (const codeobject::Kernel& kernel : object_->kernels())
    if (is_kernel_entry && kernel.descriptor.entry == pc && kernel.descriptor.enable_private_segment_buffer)
      options.scratch_srd_sgpr = 0;
  Expected<lift::LiftResult> lifted = lift::lift(options);
  if (!lifted) {
    unit.error = std::move(lifted.error());
    return;
  }
  ir::Function& function = *lifted->function;
  ir::PassContext context;
#ifndef NDEBUG
  context.verify = true;
#endif
  context.disabled = config.disabled_passes;
  ir::optimise(function, context);
  Expected<std::shared_ptr<const backend::CompiledCode>> code = backend::compile(function, {.tier = config.tier});
  if (!code) {
    unit.error = std::move(code.error());
    return;
  }
  for (const ir::Entry& entry : function.entries) unit.entry_pcs.push_back(entry.guest_pc);
  unit.code = std::move(*code);
  counters.host_instructions += unit.code->host_instructions();
  ++counters.units;
  counters.translate_ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

Expected<TranslationCache::Entry> TranslationCache::find(uint32_t config, uint64_t pc, uint32_t mode, bool exec_full,
                                                         bool is_kernel_entry, TranslationCounters& counters) {
  const Key key{config, pc, mode, exec_full};
  uint64_t root = pc;
  {
    const std::shared_lock lock(mutex_);
    if (const auto it = places_.find(key); it != places_.end())
      return Entry{it->second.unit->code.get(), it->second.index};
    // Code for any EXEC is right for a full one too. Only kernel entries, where nearly all the time is spent, get both:
    // elsewhere (functions, what follows a call) a second translation costs more than it gains.
    if (exec_full && !is_kernel_entry)
      if (const auto it = places_.find(Key{config, pc, mode, false}); it != places_.end())
        return Entry{it->second.unit->code.get(), it->second.index};
    // The PC may be inside a unit that exists in another variant only; then translate that whole unit in this variant.
    if (const auto it = root_of_.find(pc); it != root_of_.end()) root = it->second;
  }
  for (;;) {
    const Key unit_key{config, root, mode, exec_full};
    const std::shared_ptr<Unit> unit = unit_for(unit_key);
    std::call_once(unit->once, [&] { translate(*unit, unit_key, is_kernel_entry && root == pc, counters); });
    if (!unit->code) {
      if (root != pc) {
        root = pc;
        continue;
      }
      return tl::unexpected<Error>(unit->error);
    }
    const std::unique_lock lock(mutex_);
    for (uint32_t i = 0; i < unit->entry_pcs.size(); ++i) {
      places_.try_emplace(Key{config, unit->entry_pcs[i], mode, exec_full}, Place{unit, i});
      root_of_.try_emplace(unit->entry_pcs[i], root);
    }
    if (const auto it = places_.find(key); it != places_.end())
      return Entry{it->second.unit->code.get(), it->second.index};
    if (root == pc) break;
    root = pc;
  }
  return make_error(ErrorCode::kInternal, fmt::format("The translation from {:#x} has no entry there.", pc));
}

std::string symbolise(const codeobject::CodeObject& object, uint64_t pc) {
  const codeobject::FunctionSymbol* function = nullptr;
  for (const codeobject::FunctionSymbol& f : object.functions())
    if (f.address <= pc && (!function || f.address > function->address)) function = &f;
  std::string_view name;
  uint64_t begin = 0;
  if (function) {
    name = function->name;
    begin = function->address;
  }
  for (const codeobject::Kernel& k : object.kernels())
    if (k.descriptor.entry <= pc && k.descriptor.entry >= begin) {
      name = k.name;
      begin = k.descriptor.entry;
    }
  if (name.empty()) return fmt::format("{:#x}", pc);
  return pc == begin ? std::string(name) : fmt::format("{}+{:#x}", name, pc - begin);
}

std::span<const uint8_t> code_region(const codeobject::CodeObject& object, uint64_t pc) {
  for (const std::span<const uint8_t> region : object.code()) {
    const auto base = reinterpret_cast<uint64_t>(region.data());
    if (pc >= base && pc < base + region.size()) return region;
  }
  return {};
}

}  // namespace wavejit::runtime
