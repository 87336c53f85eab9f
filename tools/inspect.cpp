// `wavejit info`, `wavejit disasm` and `wavejit optimisations`.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/runner.h"

namespace wavejit::tools {
namespace {

using Json = nlohmann::ordered_json;

Json describe_kernel(const Kernel& kernel) {
  const wavejit_kernel_info info = kernel.info();
  Json json;
  json["name"] = info.name;
  json["kernarg_bytes"] = info.kernarg_size;
  json["lds_bytes"] = info.lds_size;
  json["scratch_bytes"] = info.scratch_size;
  json["sgprs"] = info.sgpr_count;
  json["vgprs"] = info.vgpr_count;
  json["agprs"] = info.agpr_count;
  if (info.required_workgroup_size[0])
    json["required_workgroup_size"] = {info.required_workgroup_size[0], info.required_workgroup_size[1],
                                       info.required_workgroup_size[2]};
  json["max_workgroup_size"] = info.max_workgroup_size;
  json["code_bytes"] = info.code_size;
  json["args"] = Json::array();
  for (uint32_t i = 0; i < info.arg_count + info.hidden_arg_count; ++i) {
    const wavejit_arg_info arg = kernel.arg(i);
    Json a;
    if (*arg.name) a["name"] = arg.name;
    if (*arg.type_name) a["type"] = arg.type_name;
    a["kind"] = arg.kind_name;
    if (*arg.address_space) a["address_space"] = arg.address_space;
    a["offset"] = arg.offset;
    a["bytes"] = arg.bytes;
    json["args"].push_back(a);
  }
  return json;
}

void print_kernel(const Kernel& kernel, bool hidden) {
  const wavejit_kernel_info info = kernel.info();
  fmt::print("  kernel {}\n", info.name);
  fmt::print("    {} bytes of code, {} SGPRs, {} VGPRs", info.code_size, info.sgpr_count, info.vgpr_count);
  if (info.agpr_count) fmt::print(", {} AGPRs", info.agpr_count);
  fmt::print(", kernarg {} bytes, LDS {} bytes, scratch {} bytes", info.kernarg_size, info.lds_size, info.scratch_size);
  if (info.required_workgroup_size[0])
    fmt::print(", work-group {}x{}x{}", info.required_workgroup_size[0], info.required_workgroup_size[1],
               info.required_workgroup_size[2]);
  else
    fmt::print(", work-group up to {}", info.max_workgroup_size);
  fmt::print("\n");
  for (uint32_t i = 0; i < info.arg_count + (hidden ? info.hidden_arg_count : 0); ++i) {
    const wavejit_arg_info arg = kernel.arg(i);
    fmt::print("    arg {:<2} offset {:<4} {:>2} bytes  {}", i, arg.offset, arg.bytes, arg.kind_name);
    if (*arg.address_space) fmt::print(" {}", arg.address_space);
    if (*arg.type_name) fmt::print("  {}", arg.type_name);
    if (*arg.name) fmt::print("  {}", arg.name);
    fmt::print("\n");
  }
  if (!hidden && info.hidden_arg_count) fmt::print("    and {} hidden arguments\n", info.hidden_arg_count);
}

struct InfoState {
  FileOptions file;
  bool json = false, brief = false, hidden = false;
};

void info(const InfoState& state) {
  const Container container = Container::open(state.file.file);
  Json out;
  out["file"] = state.file.file;
  out["kind"] = container.kind();
  out["entries"] = Json::array();
  if (!state.json)
    fmt::print("{}: {}, {} code object{}\n", state.file.file, container.kind(), container.size(),
               container.size() == 1 ? "" : "s");
  bool kernel_found = state.file.kernel.empty();
  bool target_found = state.file.target.empty();
  for (size_t i = 0; i < container.size(); ++i) {
    const wavejit_entry_info entry = container.entry(i);
    if (!state.file.target.empty() && std::string(entry.target).rfind(state.file.target, 0) != 0) continue;
    target_found = true;
    Json json;
    json["target"] = entry.target;
    json["id"] = entry.triple;
    json["bundle"] = entry.bundle_index;
    json["bytes"] = entry.data_size;
    std::string heading = fmt::format("[{}] {}, {} bytes", i, entry.target, entry.data_size);
    try {
      const Module module = container.load(i);
      json["version"] = module.object_version();
      json["kernels"] = Json::array();
      json["variables"] = Json::array();
      const std::vector<std::string> names = module.kernel_names();
      const size_t variables = wavejit_module_variable_count(module.handle());
      if (!state.json)
        fmt::print("{}, code object V{}, {} kernel{}, {} variable{}\n", heading, module.object_version(), names.size(),
                   names.size() == 1 ? "" : "s", variables, variables == 1 ? "" : "s");
      if (!state.brief) {
        for (size_t k = 0; k < names.size(); ++k) {
          if (!state.file.kernel.empty() && names[k] != state.file.kernel) continue;
          kernel_found = true;
          const Kernel kernel = module.kernel(k);
          if (state.json)
            json["kernels"].push_back(describe_kernel(kernel));
          else
            print_kernel(kernel, state.hidden);
        }
        for (size_t v = 0; v < variables; ++v) {
          wavejit_variable_info variable{};
          variable.size = sizeof variable;
          check(wavejit_module_variable(module.handle(), v, &variable));
          if (state.json)
            json["variables"].push_back(
                Json{{"name", variable.name}, {"bytes", variable.bytes}, {"writable", variable.writable != 0}});
          else if (state.file.kernel.empty())
            fmt::print("  variable {}, {} bytes{}\n", variable.name, variable.bytes,
                       variable.writable ? "" : ", read-only");
        }
      }
    } catch (const Exception& e) {
      // Other entries may be fine; a single bad one is the file's problem.
      if (container.size() == 1 && e.status() != WAVEJIT_TARGET_MISMATCH) throw;
      json["error"] = e.what();
      if (!state.json) fmt::print("{}: {}\n", heading, e.what());
    }
    out["entries"].push_back(json);
  }
  if (state.json) fmt::print("{}\n", to_text(out, 2));
  if (!target_found) throw InputError(fmt::format("The file has no code object for '{}'.", state.file.target));
  if (!kernel_found && !state.brief) {
    // The lookup names the nearest kernel.
    const Module module = Module::load_file(state.file.file, state.file.target);
    (void)module.kernel(state.file.kernel);
  }
}

struct DisasmState {
  FileOptions file;
  bool gcn = false, lir = false, x86 = false, pass_stats = false, profile = false;
  std::string ir;
  std::string isa = "auto", disabled_passes, local;
  uint64_t moved_at = 0;
};

void disasm(const DisasmState& state, bool ir) {
  const Module module = Module::load_file(state.file.file, state.file.target, state.file.kernel);
  std::vector<std::string> names = {state.file.kernel};
  if (state.file.kernel.empty()) names = module.kernel_names();
  if (names.empty()) throw InputError("The code object has no kernels.");
  wavejit_dump_options options{};
  options.size = sizeof options;
  options.kind = state.x86          ? WAVEJIT_DUMP_X86
                 : state.lir        ? WAVEJIT_DUMP_LIR
                 : state.pass_stats ? WAVEJIT_DUMP_PASS_STATS
                 : ir               ? WAVEJIT_DUMP_IR
                                    : WAVEJIT_DUMP_GCN;
  options.isa = parse_isa(state.isa);
  options.stage = state.ir.empty() ? nullptr : state.ir.c_str();
  options.disabled_passes = state.disabled_passes.empty() ? nullptr : state.disabled_passes.c_str();
  if (!state.local.empty()) {
    const std::vector<uint32_t> local = parse_size(state.local, "--local");
    if (std::find(local.begin(), local.end(), 0u) != local.end())
      throw InputError("The work-group size is 0 in one dimension.");
    std::copy(local.begin(), local.end(), options.local);
  }
  options.moved_at = state.moved_at;
  options.profile = state.profile;
  for (const std::string& name : names) {
    const Kernel kernel = module.kernel(name);
    check(wavejit_kernel_dump(
        kernel.handle(), &options, [](void*, const char* text, size_t length) { std::fwrite(text, 1, length, stdout); },
        nullptr));
    fmt::print("\n");
  }
}

}  // namespace

void add_info(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("info", "List code objects, targets, kernels, arguments and variables of a file");
  auto state = std::make_shared<InfoState>();
  command->add_option("file", state->file.file, "Code object, offload bundle, or host binary with HIP kernels")
      ->required();
  command->add_option("--target", state->file.target, "Only code objects whose target id starts like this");
  command->add_option("--kernel,-k", state->file.kernel, "Only this kernel");
  command->add_flag("--brief", state->brief, "Without kernels");
  command->add_flag("--hidden", state->hidden, "With hidden arguments");
  command->add_flag("--json", state->json, "As JSON");
  command->callback([state] { info(*state); });
}

void add_disasm(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("disasm", "Show the code of a kernel (GCN, IR, LIR or x86), or what the IR passes did to it");
  auto state = std::make_shared<DisasmState>();
  command->add_option("file", state->file.file, "Code object, offload bundle, or host binary with HIP kernels")
      ->required();
  command->add_option("--kernel,-k", state->file.kernel, "Kernel (default: all)");
  command->add_option("--target", state->file.target, "Target id to choose from the file");
  CLI::Option* gcn = command->add_flag("--gcn", state->gcn, "GCN instructions with addresses and encodings (default)");
  CLI::Option* ir = command->add_option("--ir", state->ir, "IR after all passes, or --ir=before:PASS, --ir=after:PASS")
                        ->expected(0, 1)
                        ->type_name("[STAGE]");
  CLI::Option* lir = command->add_flag("--lir", state->lir, "Annotated low-level IR before register allocation");
  CLI::Option* x86 = command->add_flag("--x86", state->x86, "Annotated x86 code");
  CLI::Option* stats = command->add_flag("--pass-stats", state->pass_stats,
                                         "What the IR passes did: how often each rule fired, how often each pass ran");
  gcn->excludes(ir)->excludes(lir)->excludes(x86)->excludes(stats);
  ir->excludes(lir)->excludes(x86)->excludes(stats);
  lir->excludes(x86)->excludes(stats);
  x86->excludes(stats);
  command->add_option("--isa", state->isa, "With --lir or --x86: avx2, avx512 or auto (default)");
  command->add_option("--disable,--disable-pass", state->disabled_passes, kDisableHelp);
  command->add_option("--local", state->local,
                      "With --ir, --lir, --x86 or --pass-stats: the code for complete work-groups of X[,Y[,Z]]");
  command
      ->add_option(
          "--moved-at", state->moved_at,
          "With --local: the code for waves that come from the interpreter at the loop that begins at this address, "
          "as --gcn prints it")
      ->type_name("ADDRESS");
  command->add_flag(
      "--profile", state->profile,
      "With the profile that an earlier process has kept on the disk: what it says beside each instruction, or "
      "the code made with it");
  command->callback([state, ir] {
    DisasmState s = *state;
    if (s.ir == "true") s.ir.clear();  // the option without a value
    disasm(s, ir->count() > 0);
  });
}

void add_optimisations(CLI::App& app) {
  CLI::App* command = app.add_subcommand("optimisations", "List what --disable takes");
  command->callback([] {
    for (size_t i = 0; const char* name = wavejit_optimisation_name(i); ++i)
      fmt::print("{:<20} {}\n", name, wavejit_optimisation_meaning(i));
  });
}

}  // namespace wavejit::tools
