// rocRAND's pseudorandom generators once more, for the host: each from its published recurrence, with rocRAND's seeding
// and the order in which its host API hands numbers out. The code of rocRAND is not used; MTGP32's published parameter
// sets are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace wavejit::rocrand {

// The numbers of one generator, as distributions take them.
class Source {
 public:
  virtual ~Source() = default;
  // The numbers of one call that generates `groups` groups of outputs, each made of `width` numbers; those of group g
  // begin at g * width. `rest` says that one more group follows, of whose outputs the call keeps only some. Calls go on
  // where the last one has ended.
  [[nodiscard]] virtual std::vector<uint32_t> draw(size_t groups, unsigned width, bool rest) = 0;
};

[[nodiscard]] std::unique_ptr<Source> make_philox4x32_10(uint64_t seed, uint64_t offset);
[[nodiscard]] std::unique_ptr<Source> make_xorwow(uint64_t seed, uint64_t offset);
// Numbers are in [1, 2^32 - 209], as the recurrence makes them.
[[nodiscard]] std::unique_ptr<Source> make_mrg32k3a(uint64_t seed, uint64_t offset);
// It has no offset.
[[nodiscard]] std::unique_ptr<Source> make_mtgp32(uint64_t seed);

}  // namespace wavejit::rocrand
