// Unrolled matrix products: more sums than the host has registers, factors from the LDS, and stores to the LDS between
// the terms. Sums take their terms in groups, and all of it may be a loop over the lanes of the wave.
#include <fmt/format.h>

#include "rows.h"

namespace wavejit::test {
namespace {

// Control flow around the product.
enum class Shape {
  straight,  // sums begin with what registers hold
  loop,      // a loop carries them
  barriers,  // the same with two waves and barriers, as around tiles of a large product
  ahead,   // the same, but a barrier separates the first term of each sum from the others: its factors are loaded ahead
  behind,  // the same, but it is the last term, with the branch that ends the loop behind it
};

struct Product {
  std::string name;
  Shape shape;
  unsigned steps;               // terms of each sum
  bool doubles = false;         // 4 x 4 sums of f64, else 8 x 4 of f32
  bool stores_between = false;  // to the LDS: where nothing is loaded from, and where the next terms are
  // To the second half of the LDS: lanes in rows of six, whose numbers take a division; the last ones are beyond its end.
  bool tiles = false;
  bool begin_in_lds = false;    // two sums begin with what one instruction loads
  bool moving = false;          // the places of the factors are others in the next round
  bool halves = false;          // packed f16 instead of f32
  unsigned sharing = 64;        // so many lanes have first factors of their own, and the next ones have the same
  unsigned second_sharing = 0;  // the same of the second load; 0: as many. Not with tiles: they use v54, too
  bool halved = false;          // the last sum on its way; its next term has a factor of the first sums
};

// Loads the factors of one term of each sum, `a` and `b` bytes from their places in v58 and v59: 16 bytes a lane, and 16
// bytes for each sixteen lanes.
std::string factors(const Product& p, unsigned a, unsigned b) {
  std::string text = fmt::format("  ds_read_b128 v[4:7], v58 offset:{}\n  ds_read_b128 v[8:11], v{} offset:{}\n", a,
                                 p.second_sharing != 0 ? 54 : 58, a + 1024);
  text += fmt::format("  ds_read_b128 v[12:15], v59 offset:{}\n", b);
  if (p.doubles) text += fmt::format("  ds_read_b128 v[16:19], v59 offset:{}\n", b + 512);
  return text + "  s_waitcnt lgkmcnt(0)\n";
}

// One term of each sum.
std::string additions(const Product& p) {
  std::string text;
  for (unsigned i = 0; i < (p.doubles ? 4 : 8); ++i)
    for (unsigned j = 0; j < 4; ++j) {
      const unsigned sum = 20 + (p.doubles ? 2 : 1) * (4 * i + j), x = 4 + 2 * i, y = 12 + 2 * j;
      if (p.doubles)
        text += fmt::format("  v_fma_f64 v[{}:{}], v[{}:{}], v[{}:{}], v[{}:{}]\n", sum, sum + 1, x, x + 1, y, y + 1,
                            sum, sum + 1);
      else
        text +=
            fmt::format("  {3} v{0}, v{1}, v{2}, v{0}\n", sum, 4 + i, 12 + j, p.halves ? "fma_halves" : "v_fma_f32");
    }
  return text;
}

// All terms that no barrier separates.
std::string terms(const Product& p) {
  std::string text;
  for (unsigned step = 0; step < p.steps; ++step) {
    const unsigned a = 256 * (step % 12), b = 64 * (step % 12);
    if (p.moving && step == 2)  // the old place lives on, 64 bytes further
      text +=
          "  v_mov_b32_e32 v61, 64\n  addu v60, v58, v61\n  ds_read_b128 v[12:15], v60\n  s_waitcnt lgkmcnt(0)\n"
          "  v_fma_f32 v20, v12, v13, v20\n  v_xor_b32_e32 v58, 0x400, v58\n  ds_read_b128 v[4:7], v60 offset:192\n"
          "  s_waitcnt lgkmcnt(0)\n  v_fma_f32 v21, v4, v5, v21\n";
    text += factors(p, a, b) + additions(p);
    if (p.halved && step == 0) text += "  v_mov_b32_e32 v62, v4\n";
    if (p.halved && step == 2) text += "  v_mul_f32 v51, 0.5, v51\n  v_fma_f32 v51, v62, v12, v51\n";
    if (p.tiles && step == 1) text += "  ds_write_b64 v52, v[4:5] offset:4096\n";
    if (!p.stores_between) continue;
    text += fmt::format("  ds_write_b32 v57, v{} offset:{}\n", 4 + step % 8, 4096 + 256 * (step % 4));
    if (step % 2 == 1) text += fmt::format("  ds_write_b32 v57, v56 offset:{}\n", 256 * step + 1024 + 64);
  }
  return text;
}

// The body of a loop whose first factors are in v4 to v15. A tile is transposed on its way into the LDS.
std::string terms_ahead(const Product& p) {
  std::string text = additions(p);
  text += "  ds_write_b32 v53, v4 offset:4096\n";
  text += "  s_cmp_eq_u32 s10, 1\n  s_cbranch_scc1 .Lend\n" + terms(p);
  text += R"(  ds_read_b128 v[4:7], v58
  ds_read_b128 v[8:11], v58 offset:1024
  ds_read_b128 v[12:15], v59
)";
  return text;
}

// The body of a loop: all terms but the last, a barrier, the last term. v52 is loaded behind the barrier; the next
// iteration combines it with v55.
std::string term_behind(const Product& p) {
  return terms(p) + factors(p, 256 * p.steps, 64 * p.steps) +
         "  v_xor_b32_e32 v55, v55, v52\n  ds_write_b32 v53, v4 offset:4096\n" +
         "  s_waitcnt lgkmcnt(0)\n  s_barrier\n  ds_read_b32 v52, v57 offset:4096\n" + additions(p);
}

LockstepCase product(const Product& p) {
  const bool barriers = p.shape != Shape::straight && p.shape != Shape::loop;
  std::string body = std::string(kLoadOwn) + fmt::format("  v_and_b32_e32 v58, {}, v0\n", p.sharing - 1) + R"(
  v_and_b32_e32 v57, 63, v0
  v_lshlrev_b32_e32 v58, 4, v58
  v_and_b32_e32 v59, 48, v0
  v_lshlrev_b32_e32 v59, 2, v59
  v_and_b32_e32 v53, 3, v57
  v_lshrrev_b32_e32 v54, 2, v57
  v_lshlrev_b32_e32 v53, 10, v53
  v_lshlrev_b32_e32 v54, 2, v54
  v_or_b32_e32 v53, v53, v54
  v_lshlrev_b32_e32 v57, 2, v57
)";
  if (p.second_sharing != 0)
    body += fmt::format("  v_and_b32_e32 v54, {}, v0\n  v_lshlrev_b32_e32 v54, 4, v54\n", p.second_sharing - 1);
  if (p.halves) body += "  v_and_b32_e32 v5, 7, v5\n";
  body += "  v_cvt_f32_u32_e32 v56, v5\n";
  if (p.tiles)
    body += R"(
  s_mov_b32 s9, 0x2aaaaaab
  v_and_b32_e32 v55, 0x7f, v0
  v_mul_hi_u32 v52, v55, s9
  v_mul_u32_u24_e32 v54, 6, v52
  subu v54, v55, v54
  v_lshlrev_b32_e32 v54, 4, v54
  v_lshlrev_b32_e32 v52, 7, v52
  addu v52, v52, v54
  v_mov_b32_e32 v54, 0xf00000
  v_cmp_gt_u32_e32 vcc, 120, v0
  v_cndmask_b32_e32 v52, v54, v52, vcc
)";
  // Small whole numbers, so that all sums are exact.
  for (unsigned row = 0; row < 16; ++row) {
    body += fmt::format("  v_add_f32_e32 v6, {}, v56\n", row % 2 == 0 ? "1.0" : "-2.0");
    if (p.halves) body += "  v_cvt_pkrtz_f16_f32 v6, v6, v56\n";
    if (p.doubles) {
      if (row % 2 == 1) continue;
      body += "  v_cvt_f64_f32_e32 v[6:7], v6\n  v_lshlrev_b32_e32 v8, 1, v57\n";
      body += fmt::format("  ds_write_b64 v8, v[6:7] offset:{}\n", row * 256);
    } else {
      body += fmt::format("  ds_write_b32 v57, v6 offset:{}\n", row * 256);
    }
  }
  // One wave needs no barrier. Then the addresses are computed in the block that multiplies, and used as data, too.
  body += "  v_mov_b32_e32 v55, v58\n  s_waitcnt lgkmcnt(0)\n";
  if (p.shape == Shape::behind) body += "  v_mov_b32_e32 v52, v56\n";
  if (p.shape != Shape::straight) body += "  s_barrier\n";
  if (p.shape == Shape::ahead)
    body += "  ds_read_b128 v[4:7], v58\n  ds_read_b128 v[8:11], v58 offset:1024\n  ds_read_b128 v[12:15], v59\n";
  for (unsigned v = 20; v < 52; ++v) body += fmt::format("  v_mov_b32_e32 v{}, {}\n", v, p.doubles ? "0" : "v56");
  if (p.begin_in_lds) {
    for (unsigned v = 22; v < 50; v += 4)  // the last sum of a row and the first of the next
      body += fmt::format("  ds_read_b128 v[{}:{}], v59 offset:{}\n", v, v + 3, 16 * v);
    body += "  s_waitcnt lgkmcnt(0)\n";
  }
  if (p.shape == Shape::straight) {
    body += terms(p);
  } else {
    body += "  s_mov_b32 s10, 3\n.Lagain:\n";
    body += p.shape == Shape::ahead ? terms_ahead(p) : p.shape == Shape::behind ? term_behind(p) : terms(p);
    if (barriers && p.shape != Shape::behind) body += "  s_waitcnt lgkmcnt(0)\n  s_barrier\n";
    if (p.moving) body += "  v_xor_b32_e32 v59, 0x80, v59\n";
    body += "  s_sub_u32 s10, s10, 1\n  s_cmp_lg_u32 s10, 0\n  s_cbranch_scc1 .Lagain\n";
    if (p.shape == Shape::ahead)
      body += ".Lend:\n  s_waitcnt lgkmcnt(0)\n  s_barrier\n  ds_read_b32 v55, v57 offset:5120\n";
    if (p.tiles) body += "  ds_read_b32 v55, v57 offset:4608\n  s_waitcnt lgkmcnt(0)\n";
  }
  body += "  v_mov_b32_e32 v19, 0\n";
  for (unsigned v = 20; v < 52; ++v)
    body += fmt::format("  v_lshlrev_b32_e32 v19, 1, v19\n  v_xor_b32_e32 v19, v19, v{}\n", v);
  body += "  v_mov_b32_e32 v4, v21\n  v_mov_b32_e32 v5, v37\n  v_mov_b32_e32 v6, v51\n";
  body += "  out 0, v19\n  out 1, v4\n  out 2, v5\n  out 3, v6\n  out 4, v55\n";
  return {.name = "sums_" + p.name,
          .body = body,
          .groups = barriers ? 2U : 4U,
          .group_size = barriers ? 128U : 64U,
          .lds = 8192,
          .prepare = {},
          .reference = {}};
}

}  // namespace

std::vector<LockstepCase> sum_cases() {
  return {
      product({"f32_straight", Shape::straight, 5, false, false}),
      product({"f32_between_stores", Shape::straight, 6, false, true}),
      product({"f32_loop", Shape::loop, 5, false, false}),
      product({"f32_moving", Shape::loop, 5, false, false, false, false, true}),
      product({"f32_moving_between_barriers", Shape::barriers, 5, false, true, false, false, true}),
      product({"f32_barriers", Shape::barriers, 5, false, true}),
      product({"f32_ahead", Shape::ahead, 9, false, false}),
      product({"f32_behind", Shape::behind, 6, false, false}),
      product({"f64_behind", Shape::behind, 3, true, false}),
      product({"f64_loop_between_stores", Shape::loop, 4, true, true}),
      product({"f64_barriers", Shape::barriers, 4, true, false}),
      product({"f64_tiles", Shape::barriers, 4, true, false, true}),
      product({"f64_begin_in_lds", Shape::straight, 5, true, false, false, true}),
      product({.name = "f32_halved", .shape = Shape::straight, .steps = 6, .halved = true}),
      product({.name = "f32_shared", .shape = Shape::straight, .steps = 5, .sharing = 16}),
      product(
          {.name = "f32_shared_by_half", .shape = Shape::barriers, .steps = 6, .stores_between = true, .sharing = 32}),
      product({.name = "f32_shared_moving", .shape = Shape::loop, .steps = 5, .moving = true, .sharing = 16}),
      product({.name = "f32_shared_twice", .shape = Shape::straight, .steps = 5, .sharing = 16, .second_sharing = 32}),
      // More than the stack rows of shared loads hold.
      product({.name = "f32_shared_too_many", .shape = Shape::straight, .steps = 30, .sharing = 16}),
      product({.name = "f16_shared", .shape = Shape::loop, .steps = 6, .halves = true, .sharing = 16}),
      product(
          {.name = "f16_between_stores", .shape = Shape::barriers, .steps = 5, .stores_between = true, .halves = true}),
      product({.name = "f64_shared", .shape = Shape::loop, .steps = 4, .doubles = true, .sharing = 16}),
  };
}

}  // namespace wavejit::test
