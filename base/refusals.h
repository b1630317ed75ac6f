// Counts the connections that a listener refused, so that it logs one line for any number of them.
#pragma once

#include <cstdint>
#include <string>

namespace bp {

class Refusals {
 public:
  // `from`: the peer's address. `why`: what the peer did, such as "it said nothing".
  void add(const std::string& from, const std::string& why);
  // Logs a warning, "NAME refused N connections ...", if add() was called since the last call.
  void log_as(const std::string& name);

  [[nodiscard]] std::int64_t count() const { return count_; }
  // "refused N connections that did not prove the job's key (the last from 10.0.0.7: it ...)"
  [[nodiscard]] std::string text() const;

 private:
  std::int64_t count_ = 0;
  std::int64_t logged_ = 0;
  std::string last_;
};

}  // namespace bp
