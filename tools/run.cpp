// `wavejit run` and `wavejit bench`.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/report.h"
#include "tools/runner.h"

namespace wavejit::tools {
namespace {

using Json = nlohmann::ordered_json;

Json timing_json(const Timing& timing) {
  Json json;
  json["engine"] = wavejit_engine_string(timing.last.engine);
  json["isa"] = timing.last.engine == WAVEJIT_ENGINE_JIT ? Json(wavejit_isa_string(timing.last.isa)) : Json(nullptr);
  json["threads"] = timing.last.threads;
  json["repeat"] = timing.wall_ns.size();
  json["median_ns"] = timing.median();
  json["min_ns"] = timing.wall_ns.front();
  json["max_ns"] = timing.wall_ns.back();
  json["translate_ns"] = timing.translate_ns;
  json["translations"] = timing.translations;
  json["cached_translations"] = timing.cached_translations;
  json["cache_ns"] = timing.cache_ns;
  json["interpreted_workgroups"] = timing.last.interpreted_workgroups;
  json["moved_waves"] = timing.last.moved_waves;
  json["fallbacks"] = timing.last.fallbacks;
  json["instructions"] = timing.instructions ? Json(*timing.instructions) : Json(nullptr);
  json["host_instructions"] = timing.host_instructions;
  json["workgroups"] = timing.last.workgroups;
  json["waves"] = timing.last.waves;
  return json;
}

Json base_json(const Plan& plan, const Runner& runner) {
  Json json;
  json["kernel"] = runner.kernel().info().name;
  json["target"] = runner.module().target();
  json["cpu"] = wavejit_host_cpu();
  json["global"] = plan.global;
  if (!plan.local.empty()) json["local"] = plan.local;
  return json;
}

// Errors of the launch as JSON too, so that scripts need not parse text, with what `also` has by then. Rethrows.
template <typename Body>
void with_json_errors(bool json, Body&& body, const Json& also = Json::object()) {
  try {
    body();
  } catch (const Exception& e) {
    if (json) {
      Json error;
      error["status"] = wavejit_status_string(e.status());
      error["message"] = e.what();
      if (!e.kernel().empty()) error["kernel"] = e.kernel();
      if (e.pc()) error["pc"] = *e.pc();
      if (e.lane()) error["lane"] = *e.lane();
      if (e.address()) error["address"] = *e.address();
      Json out{{"error", error}};
      out.update(also);
      fmt::print("{}\n", to_text(out, 2));
    }
    throw;
  } catch (const InputError& e) {
    if (json) fmt::print("{}\n", to_text(Json{{"error", {{"status", "bad input"}, {"message", e.what()}}}}, 2));
    throw;
  } catch (const MemoryError& e) {
    if (json) fmt::print("{}\n", to_text(Json{{"error", {{"status", "out of memory"}, {"message", e.what()}}}}, 2));
    throw;
  }
}

void print_buffers(const Plan& plan, const Runner& runner, Json* json) {
  for (uint32_t i = 0; i < plan.args.size(); ++i) {
    const Argument& arg = plan.args[i];
    if (!arg.print || arg.kind != Argument::Kind::buffer) continue;
    const uint64_t count = std::min<uint64_t>(*arg.print, arg.bytes.size() / size_of(arg.type));
    const uint8_t* data = runner.buffer(i);
    if (json) {
      Json values = Json::array();
      for (uint64_t e = 0; e < count; ++e) {
        // Numbers where JSON has them; infinities and NaNs as text.
        const std::string text = print_scalar(arg.type, data + e * size_of(arg.type));
        const Json number = Json::parse(text, nullptr, false);
        values.push_back(number.is_discarded() ? Json(text) : number);
      }
      (*json)["buffers"].push_back(Json{{"arg", i}, {"type", to_string(arg.type)}, {"values", values}});
      continue;
    }
    fmt::print("arg {}:", i);
    for (uint64_t e = 0; e < count; ++e)
      fmt::print("{}{}", e % 16 == 0 && count > 16 ? "\n  " : " ",
                 print_scalar(arg.type, data + e * size_of(arg.type)));
    fmt::print("\n");
  }
}

Json profile_json(const Profile& profile, const Kernel& kernel) {
  Json rows = Json::array();
  for (const wavejit_profile_entry& at : profile.entries(kernel)) {
    Json row{{"address", at.address},
             {"mnemonic", at.mnemonic},
             {"executed", at.executed},
             {"lanes", at.lanes},
             {"taken", at.taken}};
    if (at.accesses != 0)
      row["memory"] = {{"accesses", at.accesses},       {"lanes", at.access_lanes},
                       {"bytes", at.access_bytes},      {"lines", at.lines},
                       {"consecutive", at.consecutive}, {"same", at.same},
                       {"strided", at.strided},         {"stride", at.stride}};
    if (at.lds_accesses != 0)
      row["lds"] = {{"accesses", at.lds_accesses},
                    {"halves", at.lds_halves},
                    {"cycles", at.lds_cycles},
                    {"least_cycles", at.lds_least}};
    rows.push_back(std::move(row));
  }
  return rows;
}

struct RunOutput {
  bool json = false, count = false, report = false, profile = false;
};

// Prints what another launch does in the interpreter, or adds it to `json`, also if it fails, and throws then.
void print_profile(Runner& runner, Json* json) {
  const auto [profile, failure] = runner.profile();
  const bool any = !profile.entries(runner.kernel()).empty();
  if (json)
    (*json)["profile"] = profile_json(profile, runner.kernel());
  else if (any || !failure)
    fmt::print("{}", profile.text(runner.kernel()));
  if (failure) std::rethrow_exception(failure);
}

void run(const Plan& plan, const RunOutput& output) {
  const bool json = output.json;
  Json failure = Json::object();  // what is printed with an error
  const auto body = [&] {
    Runner runner(plan);
    Timing timing;
    try {
      timing = runner.run(parse_engine(plan.engine), parse_isa(plan.isa));
    } catch (const Exception&) {
      if (output.profile) print_profile(runner, json ? &failure : nullptr);
      throw;
    }
    runner.save_outputs();
    if (json) {
      Json buffers = Json::object();
      print_buffers(plan, runner, &buffers);
      runner.count(timing);
      Json out = base_json(plan, runner);
      out.update(timing_json(timing));
      out.update(buffers);
      if (output.report) out["report"] = report_json(runner.report(timing), timing.last);
      if (output.profile) {
        print_profile(runner, &failure);
        out.update(failure);
      }
      fmt::print("{}\n", to_text(out, 2));
      return;
    }
    print_buffers(plan, runner, nullptr);
    if (output.count) runner.count(timing);
    const LaunchStats& stats = timing.last;
    fmt::print("{} ({}) on {}{}{}, {} thread{}: {}", runner.kernel().info().name, runner.module().target(),
               wavejit_engine_string(stats.engine), stats.engine == WAVEJIT_ENGINE_JIT ? " " : "",
               stats.engine == WAVEJIT_ENGINE_JIT ? wavejit_isa_string(stats.isa) : "", stats.threads,
               stats.threads == 1 ? "" : "s", format_ns(timing.median()));
    if (timing.wall_ns.size() > 1)
      fmt::print(" (median of {}; {} to {})", timing.wall_ns.size(),
                 format_ns(static_cast<double>(timing.wall_ns.front())),
                 format_ns(static_cast<double>(timing.wall_ns.back())));
    fmt::print(", {} work-groups, {} waves", stats.workgroups, stats.waves);
    if (timing.instructions) fmt::print(", {} instructions", *timing.instructions);
    if (stats.interpreted_workgroups)
      fmt::print(", {} work-groups begun in the interpreter", stats.interpreted_workgroups);
    if (timing.translations) fmt::print(", translated in {}", format_ns(static_cast<double>(timing.translate_ns)));
    if (timing.cached_translations)
      fmt::print(", {} from the cache in {}", timing.translations ? "partly" : "translation",
                 format_ns(static_cast<double>(timing.cache_ns)));
    if (timing.host_instructions) fmt::print(", {} x86 instructions", timing.host_instructions);
    fmt::print("\n");
    if (output.report) print_report(runner.report(timing), timing.last);
    if (output.profile) print_profile(runner, nullptr);
  };
  with_json_errors(json, body, failure);
}

struct Contender {
  std::string name;
  wavejit_engine engine;
  wavejit_isa isa;
};

void bench(const Plan& plan, bool json) {
  with_json_errors(json, [&] {
    std::vector<Contender> contenders = {{"interp", WAVEJIT_ENGINE_INTERP, WAVEJIT_ISA_AUTO}};
    for (const wavejit_isa isa : {WAVEJIT_ISA_AVX2, WAVEJIT_ISA_AVX512})
      if (wavejit_isa_supported(isa)) contenders.push_back({wavejit_isa_string(isa), WAVEJIT_ENGINE_JIT, isa});
    Runner runner(plan);
    Json out = base_json(plan, runner);
    out["engines"] = Json::array();
    if (!json) {
      fmt::print("{} ({}) on {}\n", runner.kernel().info().name, runner.module().target(), wavejit_host_cpu());
      fmt::print("{:<8} {:>7} {:>12} {:>12} {:>12} {:>12} {:>9}  {}\n", "engine", "threads", "median", "min", "max",
                 "translate", "speed-up", "output");
    }
    std::vector<std::vector<uint8_t>> expected;
    double base = 0;
    for (const Contender& contender : contenders) {
      Timing timing = runner.run(contender.engine, contender.isa);
      const bool first = base == 0;
      if (first) {
        expected = runner.contents();
        base = timing.median();
      }
      const bool same = first || runner.contents() == expected;
      if (json) {
        runner.count(timing);
        Json row = timing_json(timing);
        row["same_output"] = same;
        row["speedup"] = base / timing.median();
        out["engines"].push_back(row);
        continue;
      }
      fmt::print("{:<8} {:>7} {:>12} {:>12} {:>12} {:>12} {:>8.1f}x  {}\n", contender.name, timing.last.threads,
                 format_ns(timing.median()), format_ns(static_cast<double>(timing.wall_ns.front())),
                 format_ns(static_cast<double>(timing.wall_ns.back())),
                 format_ns(static_cast<double>(timing.translate_ns)), base / timing.median(),
                 first  ? ""
                 : same ? "same"
                        : "differs");
      std::fflush(stdout);
    }
    runner.save_outputs();
    if (json) fmt::print("{}\n", to_text(out, 2));
  });
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run a kernel");
  struct State {
    PlanOptions options;
    std::string engine, isa;
    RunOutput output;
    bool no_cache = false, shadows = false;
  };
  auto state = std::make_shared<State>();
  state->options.add(*command);
  command->add_option("--engine", state->engine, "interp, jit or auto (default)");
  command->add_option("--isa", state->isa, "Host code of the JIT: avx2, avx512 or auto (default)");
  command->add_flag("--json", state->output.json, "Result as JSON");
  command->add_flag("--count", state->output.count,
                    "Count the executed instructions, for which the JIT makes one more launch (--json always does)");
  command->add_flag("--report", state->output.report,
                    "Say which instructions were executed and how faithful each is, for which one more launch is made");
  command->add_flag(
      "--profile", state->output.profile,
      "Say how often each instruction was executed, with how many lanes, which way branches went and what addresses "
      "accesses had, for which one more launch is made, in the interpreter");
  command->add_flag("--shadow", state->shadows,
                    "Run each launch on copies of the memory in both engines too, and compare what these write");
  command->add_flag("--no-cache", state->no_cache, "Neither take translations from the disk nor keep them there");
  command->callback([state] {
    if (state->no_cache) switch_cache_off();
    if (state->shadows) setenv("WAVEJIT_SHADOW", "1", 1);
    Plan plan;
    with_json_errors(state->output.json, [&] {
      plan = state->options.parse();
      if (!state->engine.empty()) plan.engine = state->engine;
      if (!state->isa.empty()) plan.isa = state->isa;
    });
    run(plan, state->output);
  });
}

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Run a kernel on every engine and compare speed and results");
  struct State {
    PlanOptions options;
    bool json = false;
  };
  auto state = std::make_shared<State>();
  state->options.add(*command);
  command->add_flag("--json", state->json, "Result as JSON");
  command->callback([state, command] {
    switch_cache_off();  // times of translation are part of the comparison
    Plan plan;
    with_json_errors(state->json, [&] { plan = state->options.parse(); });
    if (command->count("--repeat") == 0 && command->count("--launch") == 0) plan.repeat = 5;
    if (command->count("--warmup") == 0 && command->count("--launch") == 0) plan.warmup = 1;
    bench(plan, state->json);
  });
}

}  // namespace wavejit::tools
