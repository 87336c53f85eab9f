#include "runtime/hsa/signal_pages.h"

#include <atomic>
#include <memory>

namespace wavejit::hsa {
namespace {

struct Page {
  uint64_t number;
  Page* next;
};

// By the lowest bits of the page's number. Pages are added and never removed.
constexpr uint64_t kBuckets = 4096;
constinit std::atomic<Page*> buckets[kBuckets];

}  // namespace

void add_signal_page(uint64_t address) {
  if (is_on_signal_page(address)) return;
  std::atomic<Page*>& bucket = buckets[address / kSignalPage % kBuckets];
  auto page = std::make_unique<Page>(Page{address / kSignalPage, bucket.load(std::memory_order_relaxed)});
  while (!bucket.compare_exchange_weak(page->next, page.get(), std::memory_order_acq_rel)) {
  }
  (void)page.release();
}

bool is_on_signal_page(uint64_t address) {
  const uint64_t number = address / kSignalPage;
  for (const Page* page = buckets[number % kBuckets].load(std::memory_order_acquire); page; page = page->next)
    if (page->number == number) return true;
  return false;
}

}  // namespace wavejit::hsa
