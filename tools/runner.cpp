#include "tools/runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace wavejit::tools {
namespace {

std::vector<uint32_t> json_size(const nlohmann::json& value, const char* key) {
  std::vector<uint32_t> size;
  if (!value.is_array() || value.empty() || value.size() > 3)
    throw InputError(fmt::format("\"{}\" must be an array of one to three numbers.", key));
  for (const nlohmann::json& v : value) {
    if (!v.is_number_unsigned() || v.get<uint64_t>() > UINT32_MAX)
      throw InputError(fmt::format("\"{}\": {} is not a size.", key, to_text(v)));
    size.push_back(v.get<uint32_t>());
  }
  return size;
}

uint32_t json_u32(const nlohmann::json& value, const char* key) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX)
    throw InputError(fmt::format("\"{}\": {} is not a number from 0 to 4294967295.", key, to_text(value)));
  return value.get<uint32_t>();
}

// Launch files are three levels deep; printing a value in a message recurses.
bool limit_depth(int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
  if (depth > 16) throw InputError("The JSON is nested too deeply for a launch file.");
  return true;
}

// Progress of long launches on stderr: one line that is rewritten on a terminal, an occasional line elsewhere.
class Progress {
 public:
  static void report(void* self, uint64_t done, uint64_t total) { static_cast<Progress*>(self)->report(done, total); }
  ~Progress() {
    if (shown_ && terminal_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  void report(uint64_t done, uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    const auto seconds = std::chrono::duration<double>(now - start_).count();
    if (seconds < 1.0 || (!terminal_ && shown_ && now - last_ < std::chrono::seconds(5))) return;
    last_ = now;
    shown_ = true;
    fmt::print(stderr, "{}wavejit: {:.0f} s, {} of {} work-groups ({:.0f}%){}", terminal_ ? "\r" : "", seconds, done,
               total, 100.0 * static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(total, 1)),
               terminal_ ? "" : "\n");
    std::fflush(stderr);
  }

  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_;
  bool shown_ = false;
};

}  // namespace

std::vector<uint32_t> parse_size(const std::string& text, const char* option) {
  std::vector<uint32_t> size;
  const char* at = text.data();
  const char* end = at + text.size();
  for (;;) {
    uint32_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || (next != end && *next != ','))
      throw InputError(fmt::format("{} {}: expected X, X,Y or X,Y,Z.", option, text));
    size.push_back(value);
    if (next == end) break;
    at = next + 1;
  }
  if (size.size() > 3) throw InputError(fmt::format("{} {}: more than three dimensions.", option, text));
  return size;
}

wavejit_engine parse_engine(const std::string& name) {
  for (const wavejit_engine engine : {WAVEJIT_ENGINE_AUTO, WAVEJIT_ENGINE_INTERP, WAVEJIT_ENGINE_JIT})
    if (name == wavejit_engine_string(engine)) return engine;
  throw InputError(fmt::format("'{}' is not an engine; use interp, jit or auto.", name));
}

wavejit_isa parse_isa(const std::string& name) {
  for (const wavejit_isa isa : {WAVEJIT_ISA_AUTO, WAVEJIT_ISA_AVX2, WAVEJIT_ISA_AVX512})
    if (name == wavejit_isa_string(isa)) return isa;
  throw InputError(fmt::format("'{}' is not a host ISA; use avx2, avx512 or auto.", name));
}

Plan read_launch_file(const std::string& path) {
  const std::vector<uint8_t> text = read_file(path);
  const std::string directory = std::filesystem::path(path).parent_path().string();
  Plan plan;
  try {
    const nlohmann::json json = nlohmann::json::parse(text.begin(), text.end(), limit_depth);
    if (!json.is_object()) throw InputError("The launch must be a JSON object.");
    for (const auto& [key, value] : json.items()) {
      if (key == "code_object") {
        plan.file.file = resolve(directory, value.get<std::string>());
      } else if (key == "kernel") {
        plan.file.kernel = value.get<std::string>();
      } else if (key == "target") {
        plan.file.target = value.get<std::string>();
      } else if (key == "global") {
        plan.global = json_size(value, "global");
      } else if (key == "local") {
        plan.local = json_size(value, "local");
      } else if (key == "dynamic_lds") {
        plan.dynamic_lds = json_u32(value, "dynamic_lds");
      } else if (key == "args") {
        if (!value.is_array()) throw InputError("\"args\" must be an array.");
        for (const nlohmann::json& arg : value) plan.args.push_back(parse_argument(arg, directory));
      } else if (key == "outputs") {
        if (!value.is_array()) throw InputError("\"outputs\" must be an array.");
        for (const nlohmann::json& output : value) {
          if (!output.is_object()) throw InputError("An output must be an object.");
          for (const auto& [k, v] : output.items())
            if (k != "arg" && k != "file") throw InputError(fmt::format("Output: unknown key '{}'.", k));
          plan.outputs.push_back(
              {json_u32(output.at("arg"), "arg"), resolve(directory, output.at("file").get<std::string>())});
        }
      } else if (key == "repeat") {
        plan.repeat = json_u32(value, "repeat");
      } else if (key == "warmup") {
        plan.warmup = json_u32(value, "warmup");
      } else if (key == "engine") {
        plan.engine = value.get<std::string>();
      } else if (key == "isa") {
        plan.isa = value.get<std::string>();
      } else if (key == "threads") {
        plan.threads = json_u32(value, "threads");
      } else if (key == "schedule") {
        plan.schedule = value.get<uint64_t>();
      } else if (key == "timeout") {
        plan.timeout_s = value.get<double>();
      } else {
        throw InputError(fmt::format("Unknown key '{}'.", key));
      }
    }
  } catch (const nlohmann::json::exception& e) {
    throw InputError(fmt::format("{}: {}.", path, e.what()));
  } catch (const InputError& e) {
    throw InputError(fmt::format("{}: {}", path, e.what()));
  }
  return plan;
}

double Timing::median() const {
  const size_t n = wall_ns.size();
  if (n == 0) return 0;
  const auto at = [&](size_t i) { return static_cast<double>(wall_ns[i]); };
  return n % 2 ? at(n / 2) : (at(n / 2 - 1) + at(n / 2)) / 2;
}

Runner::Runner(const Plan& plan)
    : plan_(plan),
      module_(Module::load_file(plan.file.file, plan.file.target, plan.file.kernel)),
      kernel_(module_.kernel(plan.file.kernel)) {
  for (size_t i = 0; i < plan.args.size(); ++i) {
    const Argument& arg = plan.args[i];
    buffers_.emplace_back();
    if (arg.kind != Argument::Kind::buffer) continue;
    buffers_.back() = std::make_unique<Buffer<uint8_t>>(arg.bytes.size());
    std::string name = arg.name;
    if (name.empty() && i < kernel_.info().arg_count) name = kernel_.arg(static_cast<uint32_t>(i)).name;
    if (name.empty()) name = fmt::format("arg {}", i);
    check(wavejit_memory_register(buffers_.back()->data(), arg.bytes.size(), name.c_str()));
  }
  for (const Output& output : plan.outputs) (void)buffer(output.arg);
  bind_args();
}

void Runner::bind_args() {
  const wavejit_kernel_info info = kernel_.info();
  const auto pointer_of = [&](size_t i) -> void* { return buffers_[i] ? buffers_[i]->data() : nullptr; };
  if (info.arg_count == 0 && info.hidden_arg_count == 0 && !plan_.args.empty()) {
    // No argument list in the code object (hand-written assembly): values in order, each at its natural alignment.
    std::vector<uint8_t> segment;
    for (size_t i = 0; i < plan_.args.size(); ++i) {
      const Argument& arg = plan_.args[i];
      std::vector<uint8_t> bytes = arg.bytes;
      if (arg.kind == Argument::Kind::buffer || arg.kind == Argument::Kind::null) {
        void* pointer = pointer_of(i);
        bytes.resize(sizeof pointer);
        std::memcpy(bytes.data(), static_cast<const void*>(&pointer), sizeof pointer);
      } else if (arg.kind == Argument::Kind::local) {
        throw InputError("A local pointer needs a kernel with argument metadata.");
      }
      const size_t align = std::clamp<size_t>(bytes.size(), 1, 8);
      segment.resize((segment.size() + align - 1) / align * align);
      segment.insert(segment.end(), bytes.begin(), bytes.end());
    }
    kernel_.set_kernarg(segment.data(), segment.size());
    return;
  }
  if (plan_.args.size() != info.arg_count)
    throw InputError(
        fmt::format("Kernel '{}' has {} arguments; {} were given.", info.name, info.arg_count, plan_.args.size()));
  for (uint32_t i = 0; i < info.arg_count; ++i) {
    const Argument& arg = plan_.args[i];
    const wavejit_arg_info have = kernel_.arg(i);
    if (!arg.name.empty() && arg.name != have.name)
      for (uint32_t j = 0; j < info.arg_count; ++j)
        if (arg.name == kernel_.arg(j).name)
          throw InputError(fmt::format("Argument {} is called '{}', but in kernel '{}' that is argument {}.", i,
                                       arg.name, info.name, j));
    switch (arg.kind) {
      case Argument::Kind::value:
        kernel_.set_arg(i, arg.bytes.data(), arg.bytes.size());
        break;
      case Argument::Kind::buffer:
      case Argument::Kind::null:
        kernel_.set_arg_pointer(i, pointer_of(i));
        break;
      case Argument::Kind::local:
        kernel_.set_arg_local(i, arg.lds_bytes);
        break;
    }
  }
}

void Runner::restore() {
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (buffers_[i] && !plan_.args[i].bytes.empty())
      std::memcpy(buffers_[i]->data(), plan_.args[i].bytes.data(), plan_.args[i].bytes.size());
}

LaunchOptions Runner::options(wavejit_engine engine, wavejit_isa isa) const {
  LaunchOptions options;
  for (size_t i = 0; i < plan_.global.size(); ++i) options.global[i] = plan_.global[i];
  for (size_t i = 0; i < plan_.local.size(); ++i) options.local[i] = plan_.local[i];
  options.dynamic_lds = plan_.dynamic_lds;
  options.engine = engine;
  options.isa = isa;
  options.threads = plan_.threads;
  options.schedule = plan_.schedule;
  options.timeout_ns = static_cast<uint64_t>(std::llround(plan_.timeout_s * 1e9));
  options.disabled_passes = plan_.disabled_passes.empty() ? nullptr : plan_.disabled_passes.c_str();
  return options;
}

LaunchStats Runner::launch(LaunchOptions options) {
  restore();
  Progress progress;
  options.progress = Progress::report;
  options.progress_user = &progress;
  return kernel_.launch(options);
}

Timing Runner::run(wavejit_engine engine, wavejit_isa isa) {
  Timing timing;
  for (uint64_t i = 0; i < uint64_t{plan_.warmup} + plan_.repeat; ++i) {
    // What is warmed up is the translated code.
    const bool translate = i < plan_.warmup && engine == WAVEJIT_ENGINE_AUTO && wavejit_isa_supported(isa);
    timing.last = launch(options(translate ? WAVEJIT_ENGINE_JIT : engine, isa));
    timing.translate_ns += timing.last.translate_ns;
    timing.host_instructions += timing.last.host_instructions;
    timing.cache_ns += timing.last.cache_ns;
    timing.translations += timing.last.translations;
    timing.cached_translations += timing.last.cached_translations;
    if (i >= plan_.warmup) timing.wall_ns.push_back(timing.last.wall_ns);
  }
  std::sort(timing.wall_ns.begin(), timing.wall_ns.end());
  if (timing.last.engine == WAVEJIT_ENGINE_INTERP) timing.instructions = timing.last.guest_instructions;
  return timing;
}

void Runner::count(Timing& timing) {
  if (timing.instructions) return;
  LaunchOptions counting = options(timing.last.engine, timing.last.isa);
  counting.count_instructions = 1;
  timing.instructions = launch(counting).guest_instructions;
}

Report Runner::report(const Timing& timing) {
  Report report;
  LaunchOptions reporting = options(timing.last.engine, timing.last.isa);
  reporting.report = report.handle();
  static_cast<void>(launch(reporting));
  return report;
}

Runner::ProfiledLaunch Runner::profile() {
  ProfiledLaunch result;
  LaunchOptions launched = options(WAVEJIT_ENGINE_INTERP, WAVEJIT_ISA_AUTO);
  launched.profile = result.profile.handle();
  try {
    (void)launch(launched);
  } catch (const Exception&) {
    result.failure = std::current_exception();
  }
  return result;
}

const uint8_t* Runner::buffer(uint32_t index) const {
  if (index >= buffers_.size()) throw InputError(fmt::format("There is no argument {} to output.", index));
  if (!buffers_[index]) throw InputError(fmt::format("Argument {} is not a buffer; it cannot be an output.", index));
  return buffers_[index]->data();
}

std::vector<std::vector<uint8_t>> Runner::contents() const {
  std::vector<std::vector<uint8_t>> all;
  for (const auto& buffer : buffers_) {
    all.emplace_back();
    if (buffer) all.back() = buffer->to_vector();
  }
  return all;
}

void Runner::save_outputs() const {
  for (const Output& output : plan_.outputs)
    write_file(output.file, buffer(output.arg), plan_.args[output.arg].bytes.size());
  for (uint32_t i = 0; i < plan_.args.size(); ++i)
    if (!plan_.args[i].save.empty()) write_file(plan_.args[i].save, buffer(i), plan_.args[i].bytes.size());
}

void PlanOptions::add(CLI::App& command) {
  command_ = &command;
  command.add_option("file", given_.file.file, "Code object, offload bundle, or host binary with HIP kernels");
  command.add_option("--launch", launch_, "Launch file (JSON), see docs/command.md; options given besides override it");
  command.add_option("--kernel,-k", given_.file.kernel, "Kernel name");
  command.add_option("--target", given_.file.target, "Target id to choose from the file, e.g. gfx906");
  command.add_option("--global,-g", global_, "Global size in work-items: X, X,Y or X,Y,Z");
  command.add_option("--local,-l", local_, "Work-group size: X, X,Y or X,Y,Z");
  command.add_option("--dynamic-lds", given_.dynamic_lds, "Bytes of dynamic LDS");
  command.add_option("--arg,-a", args_, kArgHelp)->allow_extra_args(false);
  command.add_option("--threads", given_.threads, "Host threads (default: all CPUs)")->check(check_not_negative);
  command
      .add_option("--schedule", given_.schedule,
                  "Seed of the order in which work-groups and waves have their turns (default: 0, the usual one)")
      ->check(check_not_negative);
  command.add_option("--timeout", given_.timeout_s, "Time limit of a launch in seconds")
      ->check(CLI::Range(0.0, 1e9).description(""));
  command.add_option("--repeat", given_.repeat, "Measured launches");
  command.add_option("--warmup", given_.warmup, "Launches before those");
  command.add_option("--disable,--disable-pass", given_.disabled_passes, kDisableHelp);
  add_no_profile(command, given_.disabled_passes);
}

Plan PlanOptions::parse() const {
  const auto given = [&](const char* name) { return command_->count(name) > 0; };
  Plan plan;
  if (launch_.empty()) {
    plan = given_;
  } else {
    plan = read_launch_file(launch_);
    if (given("file")) plan.file.file = given_.file.file;
    if (given("--kernel")) plan.file.kernel = given_.file.kernel;
    if (given("--target")) plan.file.target = given_.file.target;
    if (given("--dynamic-lds")) plan.dynamic_lds = given_.dynamic_lds;
    if (given("--threads")) plan.threads = given_.threads;
    if (given("--schedule")) plan.schedule = given_.schedule;
    if (given("--timeout")) plan.timeout_s = given_.timeout_s;
    if (given("--repeat")) plan.repeat = given_.repeat;
    if (given("--warmup")) plan.warmup = given_.warmup;
    plan.disabled_passes = given_.disabled_passes;
  }
  if (!global_.empty()) plan.global = parse_size(global_, "--global");
  if (!local_.empty()) plan.local = parse_size(local_, "--local");
  if (!args_.empty()) {
    plan.args.clear();
    for (const std::string& arg : args_) plan.args.push_back(parse_argument(arg));
  }
  if (plan.file.file.empty()) throw InputError("No code object was given.");
  if (plan.file.kernel.empty())
    throw InputError("No kernel was given (--kernel NAME; `wavejit info FILE` lists them).");
  if (plan.global.empty()) throw InputError("No global size was given (--global X,Y,Z).");
  if (plan.repeat == 0) throw InputError("The number of repeats is 0.");
  if (!(plan.timeout_s >= 0 && plan.timeout_s <= 1e9)) throw InputError("The time limit is not a number of seconds.");
  for (const uint32_t size : plan.local)
    if (size == 0) throw InputError("The work-group size is 0 in one dimension.");
  for (const uint32_t size : plan.global)
    if (size == 0) throw InputError("The global size is 0 in one dimension.");
  return plan;
}

}  // namespace wavejit::tools
