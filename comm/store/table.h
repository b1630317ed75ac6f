// The store's keys, values and waiting requests: what the server knows, without any network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "comm/store/wire.h"

namespace bp {

class StoreTable {
 public:
  using Client = std::uint64_t;

  struct Answer {
    Client client = 0;
    StoreMessage message;
    SharedValue value = {};  // the message's last string, where there is one
  };

  // What the table may hold. Who asks for more is refused.
  struct Limits {
    // Of keys and values; each key counts as at least kLeastEntry.
    std::size_t bytes = std::size_t{1} << 30;
    // Of the keys that one client waits for; each counts kWaitOverhead besides.
    std::size_t awaited = std::size_t{16} << 20;
  };
  static constexpr std::size_t kLeastEntry = 1'024;
  static constexpr std::size_t kWaitOverhead = 128;

  explicit StoreTable(const Limits& limits) : limits_(limits) {}
  StoreTable() : StoreTable(Limits{}) {}

  // What one request (set to erase, of StoreOp) makes the server say, to the client or to others
  // that were waiting.
  [[nodiscard]] std::vector<Answer> handle(Client client, StoreMessage request);

  void forget_client(Client client);  // ends its waits without an answer
  void forget_waits();                // everyone's

  [[nodiscard]] std::map<std::string, std::string> values(const std::string& prefix) const;
  [[nodiscard]] std::size_t waits() const { return waits_.size(); }

 private:
  struct Wait {
    StoreOp op = StoreOp::wait;
    std::set<std::string> missing;
    std::size_t cost = 0;  // against Limits::awaited, until it ends
  };
  using WaitId = std::pair<Client, std::uint64_t>;  // the request's id

  std::vector<Answer> set(Client client, StoreMessage& request);
  std::vector<Answer> start_wait(Client client, StoreMessage& request);
  std::vector<Answer> cancel(Client client, std::uint64_t id);
  std::vector<Answer> add(Client client, StoreMessage& request);
  std::vector<Answer> compare_set(Client client, StoreMessage& request);
  std::vector<Answer> append(Client client, StoreMessage& request);
  std::int64_t erase(const std::string& prefix);

  // Why the key may not hold a value of `size` bytes, if so.
  [[nodiscard]] std::optional<std::string> too_much(const std::string& key, std::size_t size) const;
  // Puts the value there and answers those who waited for the key.
  void put(const std::string& key,
           std::shared_ptr<std::string> value,
           std::vector<Answer>& answers);
  // Forgets a wait whose keys are not listed in waiting_for_ any more.
  std::map<WaitId, Wait>::iterator drop_wait(std::map<WaitId, Wait>::iterator wait);
  std::map<WaitId, Wait>::iterator end_wait(std::map<WaitId, Wait>::iterator wait);

  const Limits limits_;
  std::size_t bytes_ = 0;
  // Changed in place only while no answer shares them.
  std::map<std::string, std::shared_ptr<std::string>, std::less<>> values_;
  std::map<WaitId, Wait> waits_;
  std::unordered_map<Client, std::size_t> awaited_;  // the cost of each client's waits
  std::unordered_map<std::string, std::set<WaitId>> waiting_for_;  // by missing key
};

}  // namespace bp
