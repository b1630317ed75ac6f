#include "base/refusals.h"

#include "base/text.h"
#include "bp/log.h"

namespace bp {

void Refusals::add(const std::string& from, const std::string& why) {
  ++count_;
  last_ = concat(from, ": ", why);
}

std::string Refusals::text() const {
  return concat("refused ", count_, count_ == 1 ? " connection" : " connections",
                " that did not prove the job's key (", count_ == 1 ? "from " : "the last from ",
                last_, ")");
}

void Refusals::log_as(const std::string& name) {
  if (count_ == logged_) return;
  logged_ = count_;
  log(LogLevel::warn, concat(name, " ", text()));
}

}  // namespace bp
