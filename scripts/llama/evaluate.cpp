// Evaluates language models with libllama: continues a prompt greedily, and writes the logits of a fixed text.
//
//   evaluate PROMPT-FILE TEXT-FILE TOKENS LAYERS LOGITS-PREFIX MODEL...
//
// LAYERS is the number of layers on the device (0: the CPU's backend does everything). Every model is evaluated without and
// with flash attention. Each evaluation prints one line of JSON with the tokens and the rates, and writes
// LOGITS-PREFIX.MODEL.fa0 (or fa1): rows of floats, one for each token of the text but the last, the text being fed
// whatever the model would have said (teacher-forced).
//
// Needs libllama-dev: g++ -std=c++20 -O1 -o evaluate evaluate.cpp -lllama -lggml -lggml-base
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Model = std::unique_ptr<llama_model, decltype(&llama_model_free)>;
using Context = std::unique_ptr<llama_context, decltype(&llama_free)>;
using Tokens = std::vector<llama_token>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string contents(const char* path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string("cannot read ") + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Tokens tokens_of(const llama_vocab* vocab, const std::string& text) {
  Tokens tokens(text.size() + 1);
  const int count = llama_tokenize(vocab, text.data(), static_cast<int>(text.size()), tokens.data(),
                                   static_cast<int>(tokens.size()), true, false);
  if (count <= 0) throw std::runtime_error("cannot tokenize the text");
  tokens.resize(static_cast<size_t>(count));
  return tokens;
}

// Feeds `tokens` in one batch that starts at position `at`; logits are kept of all of them, or of the last alone.
void feed(llama_context* context, const Tokens& tokens, int at, bool all_logits) {
  llama_batch batch = llama_batch_init(static_cast<int>(tokens.size()), 0, 1);
  batch.n_tokens = static_cast<int>(tokens.size());
  for (int i = 0; i < batch.n_tokens; ++i) {
    batch.token[i] = tokens[static_cast<size_t>(i)];
    batch.pos[i] = at + i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = all_logits || i + 1 == batch.n_tokens;
  }
  const int status = llama_decode(context, batch);
  llama_synchronize(context);
  llama_batch_free(batch);
  if (status != 0) throw std::runtime_error("llama_decode failed");
}

llama_token greediest(const float* logits, int count, llama_token end) {
  llama_token best = 0;
  for (llama_token t = 1; t < count; ++t)
    if (t != end && logits[t] > logits[best]) best = t;
  return best;
}

struct Run {
  Tokens tokens;
  double prompt_rate = 0, rate = 0;  // tokens a second
};

Run generate(llama_context* context, const llama_vocab* vocab, const std::string& prompt, int count) {
  const int size = llama_vocab_n_tokens(vocab);
  const Tokens start = tokens_of(vocab, prompt);
  // The first decoding loads and translates kernels; it is not timed.
  feed(context, start, 0, false);
  llama_memory_clear(llama_get_memory(context), true);
  Run run;
  auto began = Clock::now();
  feed(context, start, 0, false);
  run.prompt_rate = static_cast<double>(start.size()) / seconds_since(began);
  for (int i = 0; i < count; ++i) {
    if (i == 1) began = Clock::now();  // the first token is the prompt's
    run.tokens.push_back(greediest(llama_get_logits_ith(context, -1), size, llama_vocab_eos(vocab)));
    if (i + 1 < count) feed(context, {run.tokens.back()}, static_cast<int>(start.size()) + i, false);
  }
  run.rate = (count - 1) / seconds_since(began);
  return run;
}

void write_logits(llama_context* context, const llama_vocab* vocab, const std::string& text, const std::string& path) {
  Tokens tokens = tokens_of(vocab, text);
  tokens.resize(std::min<size_t>(tokens.size(), 201));
  tokens.pop_back();
  llama_memory_clear(llama_get_memory(context), true);
  feed(context, tokens, 0, true);
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < static_cast<int>(tokens.size()); ++i)
    file.write(reinterpret_cast<const char*>(llama_get_logits_ith(context, i)),
               static_cast<std::streamsize>(sizeof(float)) * llama_vocab_n_tokens(vocab));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

void evaluate(const std::string& path, const std::string& prompt, const std::string& text, int count, int layers,
              const std::string& prefix) {
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = layers;
  // Without a device the whole model is the CPU's.
  ggml_backend_dev_t none = nullptr;
  if (layers == 0) model_params.devices = &none;
  const Model model(llama_model_load_from_file(path.c_str(), model_params), llama_model_free);
  if (!model) throw std::runtime_error("cannot load " + path);
  const llama_vocab* vocab = llama_model_get_vocab(model.get());
  const std::string name = std::filesystem::path(path).stem();
  for (const bool flash : {false, true}) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 512;
    params.n_batch = params.n_ubatch = 256;
    params.flash_attn_type = flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.offload_kqv = params.op_offload = layers != 0;
    const Context context(llama_init_from_model(model.get(), params), llama_free);
    if (!context) throw std::runtime_error("no context for " + path);
    const Run run = generate(context.get(), vocab, prompt, count);
    write_logits(context.get(), vocab, text, prefix + "." + name + (flash ? ".fa1" : ".fa0"));
    std::printf(R"({"model": "%s", "flash_attention": %s, "prompt_rate": %.2f, "rate": %.2f, "tokens": [)",
                name.c_str(), flash ? "true" : "false", run.prompt_rate, run.rate);
    for (size_t i = 0; i < run.tokens.size(); ++i) std::printf(i == 0 ? "%d" : ", %d", run.tokens[i]);
    std::printf("]}\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 7) throw std::runtime_error("usage: evaluate PROMPT-FILE TEXT-FILE TOKENS LAYERS LOGITS-PREFIX MODEL...");
  llama_log_set(
      [](ggml_log_level level, const char* message, void*) {
        if (level >= GGML_LOG_LEVEL_WARN) std::fputs(message, stderr);
      },
      nullptr);
  const int layers = std::atoi(argv[4]);
  if (layers == 0) setenv("HIP_VISIBLE_DEVICES", "-1", 1);
  ggml_backend_load_all();
  llama_backend_init();
  const std::string prompt = contents(argv[1]), text = contents(argv[2]);
  for (int i = 6; i < argc; ++i) evaluate(argv[i], prompt, text, std::atoi(argv[3]), layers, argv[5]);
  llama_backend_free();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "evaluate: %s\n", error.what());
  return 1;
}
