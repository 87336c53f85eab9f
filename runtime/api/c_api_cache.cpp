// The C API: translations on disk.
#include <fmt/format.h>

#include "runtime/api/c_api_internal.h"
#include "runtime/translate/disk_cache.h"

using wavejit::runtime::DiskCache;
using wavejit::runtime::guarded;
using wavejit::runtime::invalid;
using wavejit::runtime::read_options;
using wavejit::runtime::write_info;

wavejit_status wavejit_cache_configure(const wavejit_cache_options* options) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (options && options->size < sizeof options->size) return invalid("The `size` of the cache options is not set.");
    const wavejit_cache_options opts = read_options(options);
    DiskCache::Settings settings = DiskCache::settings_of_environment();
    switch (opts.mode) {
      case WAVEJIT_CACHE_DEFAULT:
        break;
      case WAVEJIT_CACHE_ON:
        settings.enabled = true;
        break;
      case WAVEJIT_CACHE_OFF:
        settings.enabled = false;
        break;
      default:
        return invalid(fmt::format("{} is not a wavejit_cache_mode.", static_cast<int>(opts.mode)));
    }
    if (opts.directory) {
      if (!*opts.directory) return invalid("The directory of the cache has no name.");
      settings.directory = std::filesystem::absolute(opts.directory);
    }
    if (opts.max_bytes) settings.max_bytes = opts.max_bytes;
    DiskCache::configure(settings);
    return WAVEJIT_OK;
  });
}

wavejit_status wavejit_cache_get_info(wavejit_cache_info* info) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    thread_local std::string directory, problem;
    const DiskCache::Settings settings = DiskCache::settings();
    const std::shared_ptr<DiskCache> cache = DiskCache::of_process();
    directory = settings.directory.string();
    wavejit_cache_info value{};
    value.enabled = cache != nullptr;
    value.directory = directory.c_str();
    value.max_bytes = settings.max_bytes;
    problem.clear();
    if (!settings.directory.empty()) {
      const DiskCache::Usage usage = DiskCache(settings.directory, settings.max_bytes).usage();
      value.entries = usage.entries;
      value.bytes = usage.bytes;
    }
    if (cache) {
      const DiskCache::Counters counters = cache->counters();
      value.loads = counters.loads;
      value.misses = counters.misses;
      value.rejected = counters.rejected;
      value.stores = counters.stores;
      value.failures = counters.failures;
      value.evictions = counters.evictions;
      problem = cache->problem();
    }
    value.problem = problem.c_str();
    return write_info(info, value);
  });
}

wavejit_status wavejit_cache_clear(uint64_t* removed) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    const DiskCache::Settings settings = DiskCache::settings();
    uint64_t count = 0;
    if (!settings.directory.empty()) count = DiskCache(settings.directory, settings.max_bytes).clear();
    if (removed) *removed = count;
    return WAVEJIT_OK;
  });
}
