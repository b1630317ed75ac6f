#include <utility>
#include <vector>

#include "bp/store.h"

namespace bp {
namespace {

class PrefixStore final : public Store {
 public:
  PrefixStore(Store& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}

  void set(std::string_view key, std::string_view value) override { store_.set(full(key), value); }
  std::string get(std::string_view key, std::chrono::milliseconds timeout) override {
    return store_.get(full(key), timeout);
  }
  std::optional<std::string> find(std::string_view key) override { return store_.find(full(key)); }
  void wait(std::span<const std::string> keys, std::chrono::milliseconds timeout) override {
    std::vector<std::string> full_keys;
    full_keys.reserve(keys.size());
    for (const std::string& key : keys) {
      full_keys.push_back(full(key));
    }
    store_.wait(full_keys, timeout);
  }
  std::int64_t add(std::string_view key, std::int64_t delta) override {
    return store_.add(full(key), delta);
  }
  std::string compare_set(std::string_view key,
                          std::string_view expected,
                          std::string_view desired) override {
    return store_.compare_set(full(key), expected, desired);
  }
  void append(std::string_view key, std::string_view value) override {
    store_.append(full(key), value);
  }
  std::int64_t erase(std::string_view prefix) override { return store_.erase(full(prefix)); }

  void fail_job(const JobFailure& failure) override { store_.fail_job(failure); }
  [[nodiscard]] std::optional<JobFailure> job_failure() const override {
    return store_.job_failure();
  }
  void on_job_failure(std::function<void(const JobFailure&)> listener) override {
    store_.on_job_failure(std::move(listener));
  }
  Survivors join_survivors() override { return store_.join_survivors(); }
  void request_stop() override { store_.request_stop(); }
  [[nodiscard]] bool stop_requested() const override { return store_.stop_requested(); }
  void goodbye() override { store_.goodbye(); }

 private:
  [[nodiscard]] std::string full(std::string_view key) const {
    return std::string(prefix_).append(key);
  }

  Store& store_;
  const std::string prefix_;
};

}  // namespace

std::unique_ptr<Store> prefix_store(Store& store, std::string prefix) {
  return std::make_unique<PrefixStore>(store, std::move(prefix));
}

}  // namespace bp
