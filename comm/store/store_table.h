// The store's keys, values and waiting requests, without a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/store/store_wire.h"

namespace bp {

class StoreTable {
 public:
  using Client = std::uint64_t;

  struct Answer {
    Client client = 0;
    StoreMessage message;
    SharedValue value = {};  // the message's last string; null: `message` has all strings
  };

  // What the table may hold, in bytes. A request that would exceed a limit is rejected.
  struct Limits {
    // For keys and values. A key with its value counts as at least kLeastEntry.
    std::size_t bytes = std::size_t{1} << 30;
    // For the keys that one client waits for. Each counts kWaitOverhead more than its size.
    std::size_t awaited = std::size_t{16} << 20;
  };
  static constexpr std::size_t kLeastEntry = 1'024;
  static constexpr std::size_t kWaitOverhead = 128;

  explicit StoreTable(const Limits& limits) : limits_(limits) {}
  StoreTable() : StoreTable(Limits{}) {}

  // Carries out a request (StoreOp::set to StoreOp::erase). Returns the answers, for this client
  // and for others whose waits it ends.
  [[nodiscard]] std::vector<Answer> handle(Client client, StoreMessage request);

  void forget_client(Client client);  // ends the client's waits without an answer
  void forget_waits();                // ends all waits without an answer

  [[nodiscard]] std::map<std::string, std::string> values(const std::string& prefix) const;
  [[nodiscard]] std::size_t waits() const { return waits_.size(); }

 private:
  struct Wait {
    StoreOp op = StoreOp::wait;
    std::set<std::string> missing;
    std::size_t cost = 0;  // counts against Limits::awaited
  };
  using WaitId = std::pair<Client, std::uint64_t>;  // second: the request's id

  std::vector<Answer> set(Client client, StoreMessage& request);
  std::vector<Answer> start_wait(Client client, StoreMessage& request);
  std::vector<Answer> cancel(Client client, std::uint64_t id);
  std::vector<Answer> add(Client client, StoreMessage& request);
  std::vector<Answer> compare_set(Client client, StoreMessage& request);
  std::vector<Answer> append(Client client, StoreMessage& request);
  std::int64_t erase(const std::string& prefix);

  // Returns why the key may not get a value of `size` bytes, or nothing if it may.
  [[nodiscard]] std::optional<std::string> too_much(const std::string& key, std::size_t size) const;
  // Sets the value and adds the answers to the waits that it ends.
  void put(const std::string& key,
           std::shared_ptr<std::string> value,
           std::vector<Answer>& answers);
  // Removes a wait that has no entry in waiting_for_ any more; end_wait() also removes the entries.
  std::map<WaitId, Wait>::iterator drop_wait(std::map<WaitId, Wait>::iterator wait);
  std::map<WaitId, Wait>::iterator end_wait(std::map<WaitId, Wait>::iterator wait);

  const Limits limits_;
  std::size_t bytes_ = 0;
  // A value is changed in place only while no answer shares it.
  std::map<std::string, std::shared_ptr<std::string>, std::less<>> values_;
  std::map<WaitId, Wait> waits_;
  std::unordered_map<Client, std::size_t> awaited_;  // the cost of each client's waits
  std::unordered_map<std::string, std::set<WaitId>> waiting_for_;  // by missing key
};

}  // namespace bp
