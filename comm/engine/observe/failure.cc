#include "comm/engine/observe/failure.h"

#include "base/text.h"

namespace bp {

Error Failure::set(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (first_) return *first_;
    first_ = error;
    flag_.store(true, std::memory_order_release);
    changed_.notify_all();
  }
  if (listener_) listener_();
  return error;
}

std::optional<Error> Failure::get() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

std::optional<Error> Failure::wait(const Deadline& deadline) const {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline.at(), [&] { return first_.has_value(); });
  return first_;
}

std::string to_text(const Error& error) {
  return concat(name_of(error.code()), ": ", error.what());
}

Error error_of(int cause, const std::string& text) {
  for (const ErrorCode code :
       {ErrorCode::invalid_argument, ErrorCode::mismatch, ErrorCode::timeout, ErrorCode::peer_lost,
        ErrorCode::io, ErrorCode::aborted, ErrorCode::unavailable}) {
    const std::string prefix = concat(name_of(code), ": ");
    if (text.starts_with(prefix)) return {code, text.substr(prefix.size())};
  }
  if (cause < 0) return {ErrorCode::aborted, text};
  if (text.starts_with(concat("rank ", cause, " "))) return {ErrorCode::peer_lost, text};
  return {ErrorCode::peer_lost, concat("rank ", cause, " was lost: ", text)};
}

}  // namespace bp
