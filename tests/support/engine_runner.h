// Runs snippets of machine code on a WaveState through each engine, without the runtime: for tests that compare whole
// register states.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/isa/target.h"
#include "internal/error.h"
#include "internal/wave_state.h"

namespace wavejit::test {

enum class EngineKind : uint8_t { interp, avx2, avx512 };

struct EngineConfig {
  EngineKind kind = EngineKind::interp;
  bool optimise = true;
  bool count_instructions = false;  // in translated code; the interpreter always does
  // Optimisations to do without: of switch_names().
  std::vector<std::string> disabled = {};
  [[nodiscard]] std::string name() const;
};

// Interpreter first, then every tier this CPU has, optimised and not.
[[nodiscard]] std::vector<EngineConfig> host_engines();

// The optimisations that can be left out here: passes, those of the backend, and code for a full EXEC ("full-exec").
[[nodiscard]] const std::vector<std::string>& switch_names();

// SGPR pair that holds the address of the end of the snippet; snippets must not touch it.
inline constexpr unsigned kReturnSgpr = 100;

// Executable bytes with an appended `s_setpc_b64 s[100:101]` to a final `s_endpgm`. The jump makes translated code
// write back every register it changed.
class Snippet {
 public:
  Snippet(isa::Target target, std::span<const uint8_t> code);
  [[nodiscard]] isa::Target target() const { return target_; }
  [[nodiscard]] std::span<const uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] uint64_t base() const { return reinterpret_cast<uint64_t>(bytes_.data()); }
  [[nodiscard]] uint64_t end_pc() const { return base() + bytes_.size() - 4; }

 private:
  isa::Target target_;
  std::vector<uint8_t> bytes_;
};

// A snippet on one engine. Translated code is kept, so that further states that start with the same MODE and a full
// EXEC, or not, cost little.
class SnippetRunner {
 public:
  SnippetRunner(EngineConfig engine, const Snippet& snippet);  // both the snippet's bytes and what they refer to stay
  ~SnippetRunner();
  SnippetRunner(const SnippetRunner&) = delete;
  SnippetRunner& operator=(const SnippetRunner&) = delete;
  [[nodiscard]] const EngineConfig& engine() const;
  // Like run() below.
  [[nodiscard]] Expected<void> run(WaveState& wave);
  // Until the wave leaves for another reason than a yield or a jump; kJump: to the end of the snippet.
  [[nodiscard]] Expected<ExitReason> run_to_exit(WaveState& wave);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs from the start until the final s_endpgm. wave.pc and the return pair are set here. Unsupported or illegal
// instructions and every other exit reason come back as errors.
[[nodiscard]] Expected<void> run(const EngineConfig& engine, const Snippet& snippet, WaveState& wave);

// The IR of the snippet's first unit, for failure messages.
[[nodiscard]] std::string dump_ir(const EngineConfig& engine, const Snippet& snippet, const WaveState& wave);

struct WaveDeleter {
  void operator()(WaveState* wave) const;
};
using WavePtr = std::unique_ptr<WaveState, WaveDeleter>;
[[nodiscard]] WavePtr make_wave();  // zeroed, EXEC all ones

}  // namespace wavejit::test
