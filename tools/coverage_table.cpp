// `wavejit coverage` without files: every instruction of the tables, which processors have it, and how faithful each
// engine is.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tools/arguments.h"
#include "tools/coverage.h"
#include "tools/report.h"

namespace wavejit::tools {
namespace {

struct Row {
  wavejit_instruction_info info{};
  std::vector<bool> on;  // per target
};

struct Engine {
  const char* name;
  wavejit_fidelity wavejit_instruction_info::* fidelity;
};
constexpr Engine kEngines[] = {{"interp", &wavejit_instruction_info::interpreter},
                               {"avx2", &wavejit_instruction_info::avx2},
                               {"avx512", &wavejit_instruction_info::avx512}};

std::vector<std::string> targets_like(const std::string& wanted) {
  std::vector<std::string> targets;
  for (size_t i = 0; const char* name = wavejit_target_name(i); ++i)
    if (wanted.empty() || wanted == name) targets.emplace_back(name);
  if (targets.empty()) throw InputError(fmt::format("There is no table of instructions for '{}'.", wanted));
  return targets;
}

std::vector<Row> rows_of(const std::vector<std::string>& targets) {
  std::vector<Row> rows;
  for (size_t i = 0; i < wavejit_instruction_count(); ++i) {
    Row row;
    row.info.size = sizeof row.info;
    check(wavejit_instruction_get_info(i, &row.info));
    bool any = false;
    for (const std::string& target : targets) {
      row.on.push_back(wavejit_instruction_available(i, target.c_str()) != 0);
      any |= row.on.back();
    }
    if (any) rows.push_back(std::move(row));
  }
  return rows;
}

bool is_graphics(const Row& row) {
  return std::string_view(row.info.unit) == "graphics";
}

// For trap handlers only.
bool is_privileged(const Row& row) {
  return std::string_view(row.info.unit) == "privileged";
}

bool is_unsupported(const Row& row) {
  if (is_graphics(row) || is_privileged(row)) return false;
  for (const Engine& engine : kEngines)
    if (row.info.*engine.fidelity == WAVEJIT_FIDELITY_UNSUPPORTED) return true;
  return false;
}

std::string describe_engines(const Row& row) {
  std::string text;
  for (const Engine& engine : kEngines) {
    const std::string one = describe_fidelity(row.info, row.info.*engine.fidelity);
    if (&engine != kEngines && describe_fidelity(row.info, row.info.interpreter) == one) continue;
    text += fmt::format("{}{}", text.empty() ? "" : fmt::format("; {}: ", engine.name), one);
  }
  return text;
}

void print_json(const std::vector<std::string>& targets, const std::vector<Row>& rows) {
  nlohmann::ordered_json out;
  out["targets"] = targets;
  out["instructions"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json one{{"name", row.info.name}, {"format", row.info.format}, {"unit", row.info.unit}};
    for (const Engine& engine : kEngines) one[engine.name] = wavejit_fidelity_string(row.info.*engine.fidelity);
    if (row.info.max_ulp != 0) one["max_ulp"] = row.info.max_ulp;
    if (row.info.max_absolute != 0) one["max_absolute"] = row.info.max_absolute;
    if (row.info.hardware) one["hardware"] = row.info.hardware;
    if (row.info.decision) one["decision"] = row.info.decision;
    one["targets"] = nlohmann::ordered_json::array();
    for (size_t t = 0; t < targets.size(); ++t)
      if (row.on[t]) one["targets"].push_back(targets[t]);
    out["instructions"].push_back(one);
  }
  fmt::print("{}\n", to_text(out, 1));
}

void print_csv(const std::vector<std::string>& targets, const std::vector<Row>& rows) {
  fmt::print("instruction,format,unit,target,interp,avx2,avx512,max_ulp,max_absolute\n");
  for (const Row& row : rows)
    for (size_t t = 0; t < targets.size(); ++t)
      if (row.on[t])
        fmt::print("{},{},{},{},{},{},{},{:g},{:g}\n", row.info.name, row.info.format, row.info.unit, targets[t],
                   wavejit_fidelity_string(row.info.interpreter), wavejit_fidelity_string(row.info.avx2),
                   wavejit_fidelity_string(row.info.avx512), row.info.max_ulp, row.info.max_absolute);
}

struct Counts {
  uint64_t exact = 0, decided = 0, bounded = 0, unsupported = 0, graphics = 0, privileged = 0;
  void add(const Row& row) {
    if (is_graphics(row))
      ++graphics;
    else if (is_privileged(row))
      ++privileged;
    else if (is_unsupported(row))
      ++unsupported;
    else if (row.info.interpreter == WAVEJIT_FIDELITY_BOUNDED)
      ++bounded;
    else
      ++(row.info.interpreter == WAVEJIT_FIDELITY_DECIDED ? decided : exact);
  }
};

void print_counts(const std::vector<std::string>& targets, const std::vector<Row>& rows, bool markdown) {
  const char* format =
      markdown ? "| {} | {} | {} | {} | {} | {} | {} |\n" : "{:<10} {:>6} {:>8} {:>8} {:>12} {:>9} {:>11}\n";
  fmt::print(fmt::runtime(format), "target", "exact", "decided", "bounded", "unsupported", "graphics", "privileged");
  if (markdown) fmt::print("|---|---:|---:|---:|---:|---:|---:|\n");
  for (size_t t = 0; t < targets.size(); ++t) {
    Counts counts;
    for (const Row& row : rows)
      if (row.on[t]) counts.add(row);
    fmt::print(fmt::runtime(format), targets[t], counts.exact, counts.decided, counts.bounded, counts.unsupported,
               counts.graphics, counts.privileged);
  }
}

void print_text(const std::vector<std::string>& targets, const std::vector<Row>& rows) {
  print_counts(targets, rows, false);
  for (const Row& row : rows)
    if (is_unsupported(row))
      fmt::print("unsupported: {} ({}): {}\n", row.info.name, row.info.format, describe_engines(row));
  for (const Row& row : rows)
    if (row.info.interpreter == WAVEJIT_FIDELITY_BOUNDED)
      fmt::print("approximate: {}: {} (hardware: {})\n", row.info.name, describe_engines(row), row.info.hardware);
}

// Processors with the same instructions share a column.
struct Column {
  std::string title;
  std::vector<bool> on;  // per row
};
std::vector<Column> columns_of(const std::vector<std::string>& targets, const std::vector<Row>& rows) {
  std::vector<Column> columns;
  for (size_t t = 0; t < targets.size(); ++t) {
    Column column{.title = targets[t]};
    for (const Row& row : rows) column.on.push_back(row.on[t]);
    bool merged = false;
    for (Column& other : columns) {
      if (other.on != column.on) continue;
      other.title += " " + targets[t].substr(3);
      merged = true;
    }
    if (!merged) columns.push_back(std::move(column));
  }
  return columns;
}

void print_markdown(const std::vector<std::string>& targets, const std::vector<Row>& rows) {
  fmt::print(
      "# Instructions\n\n"
      "Made by `wavejit coverage --markdown` from the tables that decoder, interpreter and translator work from; a\n"
      "test keeps it current. `wavejit coverage --json` and `--csv` say the same for programs, `wavejit coverage "
      "FILE`\n"
      "what a code object needs.\n\n"
      "- *exact*: the bits that the documents define, payloads of NaNs aside.\n"
      "- *decided*: the documents leave the last bits open; [isa-decisions.md](isa-decisions.md) has what wavejit "
      "does.\n"
      "- *bounded*: the documents give an error bound; results are within the bound that is stated.\n"
      "- *graphics*: decoded and printed; executing one is an error that names it.\n"
      "- *privileged*: likewise, for trap handlers only.\n\n"
      "All engines (the interpreter, AVX2 and AVX-512) give the same bits; where one lacks an instruction, it is "
      "named.\n"
      "\n## How many\n\n");
  print_counts(targets, rows, true);
  const std::vector<Column> columns = columns_of(targets, rows);
  std::string format;
  for (size_t r = 0; r < rows.size(); ++r) {
    const Row& row = rows[r];
    if (format != row.info.format) {
      format = row.info.format;
      fmt::print("\n## {}\n\n| instruction | engines |", format);
      for (const Column& column : columns) fmt::print(" {} |", column.title);
      fmt::print("\n|---|---|");
      for (size_t c = 0; c < columns.size(); ++c) fmt::print(":-:|");
      fmt::print("\n");
    }
    fmt::print("| `{}` | {} |", row.info.name,
               is_graphics(row)     ? "graphics"
               : is_privileged(row) ? "privileged"
                                    : describe_engines(row));
    for (const Column& column : columns) fmt::print(" {} |", column.on[r] ? "x" : "");
    fmt::print("\n");
  }
}

}  // namespace

int print_coverage_table(const std::string& target, TableFormat format, bool strict) {
  const std::vector<std::string> targets = targets_like(target);
  const std::vector<Row> rows = rows_of(targets);
  switch (format) {
    case TableFormat::text:
      print_text(targets, rows);
      break;
    case TableFormat::json:
      print_json(targets, rows);
      break;
    case TableFormat::csv:
      print_csv(targets, rows);
      break;
    case TableFormat::markdown:
      print_markdown(targets, rows);
      break;
  }
  if (!strict) return kExitOk;
  for (const Row& row : rows)
    if (is_unsupported(row)) return kExitUnsupported;
  return kExitOk;
}

}  // namespace wavejit::tools
