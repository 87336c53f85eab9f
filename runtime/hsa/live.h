// A table of objects whose addresses are HSA handles. find() returns a reference, so the object lives on while another
// thread destroys the handle. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace wavejit::hsa {

template <typename T>
class Live {
 public:
  uint64_t add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    const auto handle = reinterpret_cast<uint64_t>(object.get());
    objects_[handle] = std::move(object);
    return handle;
  }
  std::shared_ptr<T> find(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second;
  }
  std::vector<uint64_t> handles() {
    const std::lock_guard lock(mutex_);
    std::vector<uint64_t> all;
    for (const auto& [handle, object] : objects_) all.push_back(handle);
    return all;
  }
  std::shared_ptr<T> take(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(handle);
    if (it == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(it->second);
    objects_.erase(it);
    return object;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<T>> objects_;
};

}  // namespace wavejit::hsa
