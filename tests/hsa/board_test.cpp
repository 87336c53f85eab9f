// The table of boards, and boards in files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "frontend/codeobject/processors.h"
#include "runtime/hsa/board_file.h"
#include "runtime/hsa/devices.h"

namespace wavejit::hsa {
namespace {

using codeobject::FeatureSetting;

TEST(Boards, RowsAreConsistent) {
  std::set<std::string> names;
  for (const Board& board : all_boards()) {
    SCOPED_TRACE(board.processor);
    EXPECT_TRUE(names.insert(board.processor).second);
    const auto* processor = codeobject::find_processor(board.processor);
    ASSERT_NE(processor, nullptr);
    EXPECT_EQ(processor->xnack, board.xnack != FeatureSetting::unsupported);
    EXPECT_EQ(processor->sramecc, board.sramecc != FeatureSetting::unsupported);
    EXPECT_EQ(processor->major, gfx_version(board.processor).major);
    EXPECT_EQ(find_board(gfx_version(board.processor)), &board);
    EXPECT_EQ(board.compute_units % board.xccs, 0u);
    EXPECT_EQ(board.shader_engines % board.xccs, 0u);
    EXPECT_TRUE(board.apu || board.memory_mib != 0);
    // A file with all fields of a row is that row: what the ranges of fields admit includes the table.
    const auto again = parse_boards(to_json(board));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->front(), board);
  }
}

// libdrm's list of products (id, revision, name) has the boards that are as old as the list.
TEST(Boards, AreProducts) {
  std::ifstream file("/usr/share/libdrm/amdgpu.ids");
  if (!file) GTEST_SKIP() << "there is no list of products";
  std::set<std::pair<uint32_t, uint32_t>> products;
  for (std::string line; std::getline(file, line);) {
    uint32_t id = 0, revision = 0;
    if (std::sscanf(line.c_str(), "%x,%x", &id, &revision) == 2) products.emplace(id, revision);
  }
  const std::set<std::string> newer = {"gfx904", "gfx90c", "gfx940", "gfx941", "gfx942"};
  for (const Board& board : all_boards()) {
    if (newer.contains(board.processor)) continue;
    EXPECT_TRUE(products.contains({board.chip_id, board.pci_revision})) << board.processor;
  }
}

// Figures that programs and ROCm's libraries choose code by, as rocminfo prints them for these products.
TEST(Boards, KnownProducts) {
  struct Known {
    const char* processor;
    uint32_t chip_id, compute_units, waves_per_cu, l2_kib, shader_engines, revision, packed_version;
  };
  for (const Known& k : {Known{"gfx803", 0x67df, 36, 40, 2048, 4, 1, 80003},
                         {"gfx900", 0x687f, 64, 40, 4096, 4, 1, 90000},
                         {"gfx906", 0x66af, 60, 40, 8192, 4, 1, 90006},
                         {"gfx908", 0x738c, 120, 40, 8192, 8, 2, 90008},
                         {"gfx90a", 0x740f, 104, 32, 8192, 8, 1, 90010},
                         {"gfx942", 0x74a1, 304, 32, 4096, 32, 1, 90402}}) {
    SCOPED_TRACE(k.processor);
    const Board* board = find_board(k.processor);
    ASSERT_NE(board, nullptr);
    EXPECT_EQ(board->chip_id, k.chip_id);
    EXPECT_EQ(board->compute_units, k.compute_units);
    EXPECT_EQ(board->waves_per_cu(), k.waves_per_cu);
    EXPECT_EQ(board->l2_kib, k.l2_kib);
    EXPECT_EQ(board->shader_engines, k.shader_engines);
    EXPECT_EQ(board->revision, k.revision);
    EXPECT_EQ(gfx_version(board->processor).packed(), k.packed_version);
  }
  EXPECT_EQ(find_board("gfx600"), nullptr);
  EXPECT_EQ(find_board(GfxVersion{9, 0, 7}), nullptr);
}

// "Max Clock Freq. (MHz)" of rocminfo or clinfo in issues: ollama/ollama 2453 (RX 580), CLRX/CLRX-mirror 34 (MI100), ROCm/aiter
// 179 (MI250, whose compute units are the MI210's), ROCm/ROCm 4414 (MI300X).
TEST(Boards, Clocks) {
  for (const auto& [processor, clock_mhz] :
       {std::pair{"gfx803", 1340u}, {"gfx908", 1502u}, {"gfx90a", 1700u}, {"gfx942", 2100u}})
    EXPECT_EQ(find_board(processor)->clock_mhz, clock_mhz) << processor;
}

// gfx941 is the MI300X before its release (ROCm/ROCm issue 4825): the same board with another revision.
TEST(Boards, EarlyMi300xIsAnMi300x) {
  Board early = *find_board("gfx941");
  const Board& released = *find_board("gfx942");
  EXPECT_NE(early.revision, released.revision);
  early.processor = released.processor;
  early.target = released.target;
  early.revision = released.revision;
  EXPECT_EQ(early, released);
}

TEST(BoardFiles, OverrideTheTable) {
  const auto boards = parse_boards(R"([{"processor": "gfx906", "name": "AMD Instinct MI50", "chip_id": "0x66a1",
                                        "sramecc": "on", "memory_mib": 32768, "unique_id": false},
                                       {"processor": "gfx90a"}])");
  ASSERT_TRUE(boards) << boards.error().message;
  ASSERT_EQ(boards->size(), 2u);
  Board expected = *find_board("gfx906");
  expected.name = "AMD Instinct MI50";
  expected.chip_id = 0x66a1;
  expected.sramecc = FeatureSetting::on;
  expected.memory_mib = 32768;
  expected.unique_id = false;
  EXPECT_EQ(boards->at(0), expected);
  EXPECT_EQ(boards->at(1), *find_board("gfx90a"));
}

TEST(BoardFiles, ErrorsAreTyped) {
  struct Case {
    const char* json;
    BoardFileProblem problem;
    const char* field;
  };
  for (const Case& c : {
           Case{"{", BoardFileProblem::not_json, ""},
           {"3", BoardFileProblem::wrong_shape, ""},
           {"[]", BoardFileProblem::wrong_shape, ""},
           {"[3]", BoardFileProblem::wrong_shape, ""},
           {"{}", BoardFileProblem::missing_processor, "processor"},
           {R"({"processor": 906})", BoardFileProblem::wrong_type, "processor"},
           {R"({"processor": "gfx1030"})", BoardFileProblem::unknown_processor, "processor"},
           {R"({"processor": "gfx906", "colour": 1})", BoardFileProblem::unknown_field, "colour"},
           {R"({"processor": "gfx906", "packaged": true})", BoardFileProblem::unknown_field, "packaged"},
           {R"({"processor": "gfx906", "clock_mhz": "fast"})", BoardFileProblem::wrong_type, "clock_mhz"},
           {R"({"processor": "gfx906", "clock_mhz": "0x12g"})", BoardFileProblem::wrong_type, "clock_mhz"},
           {R"({"processor": "gfx906", "clock_mhz": 1.5})", BoardFileProblem::wrong_type, "clock_mhz"},
           {R"({"processor": "gfx906", "clock_mhz": -1})", BoardFileProblem::out_of_range, "clock_mhz"},
           {R"({"processor": "gfx906", "clock_mhz": 18446744073709551615})", BoardFileProblem::out_of_range,
            "clock_mhz"},
           {R"({"processor": "gfx906", "clock_mhz": "0x11111111111111111"})", BoardFileProblem::out_of_range,
            "clock_mhz"},
           {R"({"processor": "gfx906", "lds_kib": 65})", BoardFileProblem::out_of_range, "lds_kib"},
           {R"({"processor": "gfx906", "compute_units": 0})", BoardFileProblem::out_of_range, "compute_units"},
           {R"({"processor": "gfx906", "name": ""})", BoardFileProblem::out_of_range, "name"},
           {R"({"processor": "gfx906", "name": 3})", BoardFileProblem::wrong_type, "name"},
           {R"({"processor": "gfx906", "apu": 1})", BoardFileProblem::wrong_type, "apu"},
           {R"({"processor": "gfx906", "xnack": true})", BoardFileProblem::wrong_type, "xnack"},
           {R"({"processor": "gfx906", "xnack": "any"})", BoardFileProblem::wrong_type, "xnack"},
           {R"({"processor": "gfx906", "xnack": "unsupported"})", BoardFileProblem::unsupported_feature, "xnack"},
           {R"({"processor": "gfx803", "sramecc": "on"})", BoardFileProblem::unsupported_feature, "sramecc"},
       }) {
    SCOPED_TRACE(c.json);
    const auto boards = parse_boards(c.json);
    ASSERT_FALSE(boards);
    EXPECT_EQ(boards.error().problem, c.problem) << boards.error().message;
    EXPECT_EQ(boards.error().field, c.field);
    EXPECT_FALSE(boards.error().message.empty());
  }
  const auto missing = read_boards("/nonexistent/board.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().problem, BoardFileProblem::unreadable);
  EXPECT_NE(missing.error().message.find("/nonexistent/board.json"), std::string::npos);
}

class Configured : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("WAVEJIT_TARGET");
    unsetenv("WAVEJIT_BOARD");
  }
};

TEST_F(Configured, ByEnvironment) {
  EXPECT_EQ(configured_boards()->at(0).processor, kDefaultProcessor);
  setenv("WAVEJIT_TARGET", "gfx942,gfx803", 1);
  const auto listed = configured_boards();
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ(listed->at(0).processor, "gfx942");
  for (const char* bad : {"gfx906,", ",gfx906", "gfx1030", "gfx906 "}) {
    setenv("WAVEJIT_TARGET", bad, 1);
    EXPECT_FALSE(configured_boards()) << bad;
  }
  const std::string path = testing::TempDir() + "/wavejit-board.json";
  std::ofstream(path) << R"({"processor": "gfx908", "compute_units": 60})";
  setenv("WAVEJIT_BOARD", path.c_str(), 1);
  EXPECT_FALSE(configured_boards()) << "both variables";
  unsetenv("WAVEJIT_TARGET");
  const auto from_file = configured_boards();
  ASSERT_TRUE(from_file) << from_file.error();
  EXPECT_EQ(from_file->at(0).compute_units, 60u);
  std::ofstream(path) << "{";
  EXPECT_FALSE(configured_boards());
  std::remove(path.c_str());
}

}  // namespace
}  // namespace wavejit::hsa
