#include "tests/support/memory_store.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::test {

namespace {
class Client;
}

struct MemoryStoreServer::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string, std::less<>> values;
  std::optional<JobFailure> failure;
  bool stop = false;
  std::vector<Client*> clients;
  std::recursive_mutex calling;  // held while listeners run

  void fail(const JobFailure& first);
};

namespace {

class Client : public Store {
 public:
  Client(std::shared_ptr<MemoryStoreServer::State> state, int rank)
      : state_(std::move(state)), rank_(rank) {
    const std::lock_guard calling(state_->calling);
    state_->clients.push_back(this);
  }
  ~Client() override {
    {
      const std::lock_guard calling(state_->calling);
      std::erase(state_->clients, this);
    }
    if (!goodbye_) state_->fail({rank_, "its connection to the store closed"});
  }

  void set(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(state_->mutex);
    state_->values.insert_or_assign(std::string(key), std::string(value));
    state_->changed.notify_all();
  }
  std::string get(std::string_view key, std::chrono::milliseconds timeout) override {
    const std::string wanted(key);
    wait(std::span(&wanted, 1), timeout);
    return *find(key);
  }
  std::optional<std::string> find(std::string_view key) override {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->values.find(key);
    if (found == state_->values.end()) return std::nullopt;
    return found->second;
  }
  void wait(std::span<const std::string> keys, std::chrono::milliseconds timeout) override {
    std::unique_lock lock(state_->mutex);
    const auto all_there = [&] {
      for (const std::string& key : keys) {
        if (!state_->values.contains(key)) return false;
      }
      return true;
    };
    const bool over = state_->changed.wait_until(
        lock, Deadline(timeout).at(), [&] { return state_->failure.has_value() || all_there(); });
    if (state_->failure) throw Error(ErrorCode::aborted, state_->failure->text);
    if (!over) throw Error(ErrorCode::timeout, "keys are missing");
  }
  std::int64_t add(std::string_view key, std::int64_t delta) override {
    const std::lock_guard lock(state_->mutex);
    std::string& value = state_->values[std::string(key)];
    value = std::to_string((value.empty() ? 0 : std::stoll(value)) + delta);
    state_->changed.notify_all();
    return std::stoll(value);
  }
  std::string compare_set(std::string_view key,
                          std::string_view expected,
                          std::string_view desired) override {
    const std::lock_guard lock(state_->mutex);
    std::string& value = state_->values[std::string(key)];
    if (value == expected) value = desired;
    state_->changed.notify_all();
    return value;
  }
  void append(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(state_->mutex);
    state_->values[std::string(key)] += value;
    state_->changed.notify_all();
  }
  std::int64_t erase(std::string_view prefix) override {
    const std::lock_guard lock(state_->mutex);
    return static_cast<std::int64_t>(std::erase_if(
        state_->values, [&](const auto& entry) { return entry.first.starts_with(prefix); }));
  }

  void fail_job(const JobFailure& failure) override { state_->fail(failure); }
  [[nodiscard]] std::optional<JobFailure> job_failure() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->failure;
  }
  void on_job_failure(std::function<void(const JobFailure&)> listener) override {
    const std::lock_guard calling(state_->calling);
    listener_ = std::move(listener);
    if (const auto failed = job_failure(); failed && listener_) listener_(*failed);
  }
  void tell(const JobFailure& failure) const {
    if (listener_) listener_(failure);
  }
  Survivors join_survivors() override {
    throw Error(ErrorCode::invalid_argument, "this job ends with its first failure");
  }
  void request_stop() override {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  [[nodiscard]] bool stop_requested() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->stop;
  }
  void goodbye() override { goodbye_ = true; }

 private:
  const std::shared_ptr<MemoryStoreServer::State> state_;
  const int rank_;
  bool goodbye_ = false;
  std::function<void(const JobFailure&)> listener_;  // guarded by state_->calling
};

}  // namespace

void MemoryStoreServer::State::fail(const JobFailure& first) {
  const std::lock_guard lock_calls(calling);
  {
    const std::lock_guard lock(mutex);
    if (failure) return;
    failure = first;
    changed.notify_all();
  }
  for (const Client* client : clients) client->tell(first);
}

MemoryStoreServer::MemoryStoreServer() : state_(std::make_shared<State>()) {}
MemoryStoreServer::~MemoryStoreServer() = default;

std::unique_ptr<Store> MemoryStoreServer::connect(int rank) {
  return std::make_unique<Client>(state_, rank);
}

}  // namespace bp::test
