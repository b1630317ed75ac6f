#include "comm/store/store_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/number.h"
#include "base/text.h"

namespace bp {
namespace {

StoreMessage done(std::uint64_t id, std::int64_t number = 0) {
  return {.op = StoreOp::done, .id = id, .number = number, .strings = {}};
}

StoreTable::Answer found(StoreTable::Client client, std::uint64_t id, SharedValue value) {
  return {client, {.op = StoreOp::found, .id = id, .number = 0, .strings = {}}, std::move(value)};
}

auto shared(std::string value) { return std::make_shared<std::string>(std::move(value)); }

StoreMessage rejected(std::uint64_t id, std::string why) {
  return {.op = StoreOp::rejected, .id = id, .number = 0, .strings = {std::move(why)}};
}

std::size_t cost(const std::string& key, std::size_t value) {
  return std::max(key.size() + value, StoreTable::kLeastEntry);
}

}  // namespace

std::vector<StoreTable::Answer> StoreTable::handle(Client client, StoreMessage request) {
  switch (request.op) {
    case StoreOp::set:
      return set(client, request);
    case StoreOp::find: {
      const auto value = values_.find(request.strings[0]);
      if (value == values_.end()) {
        request.op = StoreOp::missing;
        return {{client, std::move(request)}};
      }
      return {found(client, request.id, value->second)};
    }
    case StoreOp::get:
    case StoreOp::wait:
      return start_wait(client, request);
    case StoreOp::cancel:
      return cancel(client, request.id);
    case StoreOp::add:
      return add(client, request);
    case StoreOp::compare_set:
      return compare_set(client, request);
    case StoreOp::append:
      return append(client, request);
    case StoreOp::erase:
      return {{client, done(request.id, erase(request.strings[0]))}};
    default:
      BP_CHECK(false, "a message that is not a request reached the store's table");
  }
  return {};
}

std::vector<StoreTable::Answer> StoreTable::set(Client client, StoreMessage& request) {
  if (auto why = too_much(request.strings[0], request.strings[1].size())) {
    return {{client, rejected(request.id, std::move(*why))}};
  }
  std::vector<Answer> answers = {{client, done(request.id)}};
  put(request.strings[0], shared(std::move(request.strings[1])), answers);
  return answers;
}

std::vector<StoreTable::Answer> StoreTable::start_wait(Client client, StoreMessage& request) {
  if (request.op == StoreOp::get) {
    const auto value = values_.find(request.strings[0]);
    if (value != values_.end()) {
      return {found(client, request.id, value->second)};
    }
  }
  Wait wait{.op = request.op, .missing = {}};
  for (std::string& key : request.strings) {
    if (!values_.contains(key)) {
      wait.cost += key.size() + kWaitOverhead;
      wait.missing.insert(std::move(key));
    }
  }
  if (wait.missing.empty()) {
    return {{client, done(request.id)}};
  }
  const WaitId id{client, request.id};
  if (waits_.contains(id)) {
    return {{client, rejected(request.id, "the request's id is that of one still waiting")}};
  }
  const auto before = awaited_.find(client);
  const std::size_t awaited = wait.cost + (before == awaited_.end() ? 0 : before->second);
  if (awaited > limits_.awaited) {
    return {{client, rejected(request.id, concat("the keys that this process waits for would take ",
                                                 awaited, " bytes; the limit is ", limits_.awaited,
                                                 "; wait for fewer at a time"))}};
  }
  awaited_[client] = awaited;
  for (const std::string& key : wait.missing) {
    waiting_for_[key].insert(id);
  }
  waits_.emplace(id, std::move(wait));
  return {};
}

std::vector<StoreTable::Answer> StoreTable::cancel(Client client, std::uint64_t id) {
  const auto wait = waits_.find({client, id});
  if (wait == waits_.end()) {
    return {};  // it was answered before the cancel arrived
  }
  StoreMessage message{.op = StoreOp::missing, .id = id, .number = 0, .strings = {}};
  message.strings.assign(wait->second.missing.begin(), wait->second.missing.end());
  end_wait(wait);
  return {{client, std::move(message)}};
}

std::vector<StoreTable::Answer> StoreTable::add(Client client, StoreMessage& request) {
  const std::string& key = request.strings[0];
  const auto value = values_.find(key);
  const auto before = value == values_.end() ? std::optional<std::int64_t>(0)
                                             : number_in<std::int64_t>(*value->second);
  if (!before) {
    return {{client, rejected(request.id, "the key's value is not a whole number")}};
  }
  std::int64_t sum = 0;
  if (__builtin_add_overflow(*before, request.number, &sum)) {
    return {{client, rejected(request.id,
                              concat(*before, " + ", request.number, " does not fit 64 bits"))}};
  }
  std::string text = std::to_string(sum);
  if (auto why = too_much(key, text.size())) {
    return {{client, rejected(request.id, std::move(*why))}};
  }
  std::vector<Answer> answers = {{client, done(request.id, sum)}};
  put(key, shared(std::move(text)), answers);
  return answers;
}

std::vector<StoreTable::Answer> StoreTable::compare_set(Client client, StoreMessage& request) {
  const std::string& key = request.strings[0];
  const auto value = values_.find(key);
  const SharedValue now = value == values_.end() ? shared({}) : value->second;
  if (*now != request.strings[1]) {
    return {found(client, request.id, now)};
  }
  if (auto why = too_much(key, request.strings[2].size())) {
    return {{client, rejected(request.id, std::move(*why))}};
  }
  const auto desired = shared(std::move(request.strings[2]));
  std::vector<Answer> answers = {found(client, request.id, desired)};
  put(key, desired, answers);
  return answers;
}

std::vector<StoreTable::Answer> StoreTable::append(Client client, StoreMessage& request) {
  const auto at = values_.find(request.strings[0]);
  const std::size_t size = at == values_.end() ? 0 : at->second->size();
  const std::string& more = request.strings[1];
  if (size + more.size() > kMaxStoreValue) {
    return {{client, rejected(request.id,
                              concat(size, " + ", more.size(),
                                     " bytes are more than a value may have, ", kMaxStoreValue))}};
  }
  if (auto why = too_much(request.strings[0], size + more.size())) {
    return {{client, rejected(request.id, std::move(*why))}};
  }
  auto value = shared({});
  if (at != values_.end()) {
    bytes_ -= cost(at->first, size);
    value = std::move(at->second);
    values_.erase(at);
  }
  if (value.use_count() > 1) {  // answers that are not sent yet share it
    value = shared(*value);
  }
  value->append(more);
  std::vector<Answer> answers = {{client, done(request.id)}};
  put(request.strings[0], std::move(value), answers);
  return answers;
}

std::optional<std::string> StoreTable::too_much(const std::string& key, std::size_t size) const {
  const auto at = values_.find(key);
  const std::size_t before = at == values_.end() ? 0 : cost(key, at->second->size());
  const std::size_t after = bytes_ - before + cost(key, size);
  if (after <= limits_.bytes || cost(key, size) <= before) {
    return std::nullopt;
  }
  return concat("the store would hold ", after, " bytes; the limit is ", limits_.bytes,
                " (a key counts as at least ", kLeastEntry,
                "); erase keys that are no longer needed, and send large data by a collective");
}

std::map<std::string, std::string> StoreTable::values(const std::string& prefix) const {
  std::map<std::string, std::string> found;
  for (auto at = values_.lower_bound(prefix); at != values_.end() && at->first.starts_with(prefix);
       ++at) {
    found.emplace(at->first, *at->second);
  }
  return found;
}

std::int64_t StoreTable::erase(const std::string& prefix) {
  const auto first = values_.lower_bound(prefix);
  auto last = first;
  std::int64_t count = 0;
  while (last != values_.end() && last->first.starts_with(prefix)) {
    bytes_ -= cost(last->first, last->second->size());
    ++last;
    ++count;
  }
  values_.erase(first, last);
  return count;
}

void StoreTable::put(const std::string& key,
                     std::shared_ptr<std::string> value,
                     std::vector<Answer>& answers) {
  std::shared_ptr<std::string>& entry = values_[key];
  bytes_ += cost(key, value->size());
  bytes_ -= entry ? cost(key, entry->size()) : 0;
  entry = std::move(value);
  const SharedValue held = entry;
  auto waiters = waiting_for_.extract(key);
  if (waiters.empty()) {
    return;
  }
  for (const WaitId& id : waiters.mapped()) {
    const auto wait = waits_.find(id);
    wait->second.missing.erase(key);
    if (wait->second.missing.empty()) {
      answers.push_back(wait->second.op == StoreOp::get ? found(id.first, id.second, held)
                                                        : Answer{id.first, done(id.second)});
      drop_wait(wait);
    }
  }
}

auto StoreTable::drop_wait(std::map<WaitId, Wait>::iterator wait)
    -> std::map<WaitId, Wait>::iterator {
  const auto awaited = awaited_.find(wait->first.first);
  awaited->second -= wait->second.cost;
  if (awaited->second == 0) {
    awaited_.erase(awaited);
  }
  return waits_.erase(wait);
}

auto StoreTable::end_wait(std::map<WaitId, Wait>::iterator wait)
    -> std::map<WaitId, Wait>::iterator {
  for (const std::string& key : wait->second.missing) {
    const auto waiters = waiting_for_.find(key);
    waiters->second.erase(wait->first);
    if (waiters->second.empty()) {
      waiting_for_.erase(waiters);
    }
  }
  return drop_wait(wait);
}

void StoreTable::forget_client(Client client) {
  auto wait = waits_.lower_bound({client, 0});
  while (wait != waits_.end() && wait->first.first == client) {
    wait = end_wait(wait);
  }
}

void StoreTable::forget_waits() {
  waits_.clear();
  awaited_.clear();
  waiting_for_.clear();
}

}  // namespace bp
