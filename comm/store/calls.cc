// The Store interface on top of StoreClient::ask().
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "comm/store/client.h"

namespace bp {

void StoreClient::check_sizes(const What& what,
                              std::initializer_list<std::string_view> values) const {
  if (what.key.size() > kMaxStoreKey) {
    throw error(ErrorCode::invalid_argument, what,
                concat("the key has ", what.key.size(), " bytes; the limit is ", kMaxStoreKey));
  }
  for (const std::string_view value : values) {
    if (value.size() > kMaxStoreValue) {
      throw error(ErrorCode::invalid_argument, what,
                  concat("the value has ", value.size(), " bytes; the limit is ", kMaxStoreValue,
                         "; send large data by a collective"));
    }
  }
}

StoreMessage StoreClient::ask_about(const What& what,
                                    StoreMessage request,
                                    std::initializer_list<std::string_view> values,
                                    std::optional<std::chrono::milliseconds> timeout) {
  check_sizes(what, values);
  request.strings.emplace_back(what.key);
  request.strings.insert(request.strings.end(), values.begin(), values.end());
  return ask(what, std::move(request), timeout);
}

void StoreClient::set(std::string_view key, std::string_view value) {
  ask_about({"set", key}, {.op = StoreOp::set}, {value});
}

std::string StoreClient::get(std::string_view key, std::chrono::milliseconds timeout) {
  return std::move(ask_about({"get", key}, {.op = StoreOp::get}, {}, timeout).strings.at(0));
}

std::optional<std::string> StoreClient::find(std::string_view key) {
  StoreMessage answer = ask_about({"find", key}, {.op = StoreOp::find});
  if (answer.op == StoreOp::missing) {
    return std::nullopt;
  }
  return std::move(answer.strings.at(0));
}

void StoreClient::wait(std::span<const std::string> keys, std::chrono::milliseconds timeout) {
  if (keys.empty()) {
    return;
  }
  StoreMessage request{.op = StoreOp::wait, .strings = {keys.begin(), keys.end()}};
  for (const std::string& key : keys) {
    check_sizes({"wait for", key});
  }
  const std::string verb = concat("wait for ", keys.size(), keys.size() == 1 ? " key" : " keys");
  const What what{verb, {}};
  if (keys.size() > kMaxStoreKeys) {
    throw error(ErrorCode::invalid_argument, what,
                concat("the limit is ", kMaxStoreKeys, " keys; wait for fewer at a time"));
  }
  if (const std::size_t size = encoded_size(request); size > kMaxStoreBody) {
    throw error(ErrorCode::invalid_argument, what,
                concat("the request has ", size, " bytes; the limit is ", kMaxStoreBody,
                       "; wait for fewer at a time"));
  }
  ask(what, std::move(request), timeout);
}

std::int64_t StoreClient::add(std::string_view key, std::int64_t delta) {
  return ask_about({"add to", key}, {.op = StoreOp::add, .number = delta}).number;
}

std::string StoreClient::compare_set(std::string_view key,
                                     std::string_view expected,
                                     std::string_view desired) {
  return std::move(
      ask_about({"compare_set", key}, {.op = StoreOp::compare_set}, {expected, desired})
          .strings.at(0));
}

void StoreClient::append(std::string_view key, std::string_view value) {
  ask_about({"append to", key}, {.op = StoreOp::append}, {value});
}

std::int64_t StoreClient::erase(std::string_view prefix) {
  return ask_about({"erase", prefix}, {.op = StoreOp::erase}).number;
}

void StoreClient::fail_job(const JobFailure& failure) {
  process_.refuse_elsewhere("fail_job", "store's client");
  if (failure.cause >= 0 && failure.cause != rank_) follows_ = true;
  ask({"fail_job", {}}, {.op = StoreOp::fail,
                         .number = failure.cause,
                         .strings = {failure.text.substr(0, kMaxStoreText)}});
}

std::optional<JobFailure> StoreClient::job_failure() const {
  process_.refuse_elsewhere("job_failure", "store's client");
  const std::lock_guard lock(mutex_);
  return failure_;
}

void StoreClient::on_job_failure(std::function<void(const JobFailure&)> listener) {
  process_.refuse_elsewhere("on_job_failure", "store's client");
  std::unique_lock lock(mutex_);
  listener_idle_.wait(lock, [&] { return !listener_runs_; });
  listener_ = std::move(listener);
  if (failure_) {
    run_listener(lock);
  }
}

Survivors StoreClient::join_survivors() {
  const StoreMessage answer = ask({"join survivors", {}}, {.op = StoreOp::join_survivors});
  Survivors survivors{.generation = static_cast<int>(answer.number), .ranks = {}};
  for (const std::string& rank : answer.strings) {
    survivors.ranks.push_back(std::atoi(rank.c_str()));
  }
  return survivors;
}

void StoreClient::request_stop() { ask({"request_stop", {}}, {.op = StoreOp::stop}); }

bool StoreClient::stop_requested() const {
  process_.refuse_elsewhere("stop_requested", "store's client");
  const std::lock_guard lock(mutex_);
  return stop_requested_;
}

void StoreClient::goodbye() {
  ask({"goodbye", {}}, {.op = StoreOp::goodbye});
  const std::lock_guard lock(mutex_);
  said_goodbye_ = true;
  wake_calls();
}

}  // namespace bp
