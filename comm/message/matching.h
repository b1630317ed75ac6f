// Matches receives and messages by MPI's rule. A receive gets the first arrived message that it
// matches, and a message goes to the first posted receive that matches it. The messages of one
// sender arrive in the order in which it sent them, so two messages of one sender and tag never
// overtake each other.
//
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <optional>
#include <utility>

#include "bp/collective.h"

namespace bp {

// `Receive` and `Arrived` have source() and tag(). Those of a Receive may be kAnySource and
// kAnyTag.
template <class Receive, class Arrived>
class Matching {
 public:
  // Returns the arrived message that the receive gets. Keeps the receive if there is none.
  [[nodiscard]] std::optional<Arrived> post(Receive receive) {
    const auto found = std::ranges::find_if(
        arrived_, [&](const Arrived& message) { return matches(receive, message); });
    if (found == arrived_.end()) {
      posted_.push_back(std::move(receive));
      return std::nullopt;
    }
    std::optional<Arrived> message(std::move(*found));
    arrived_.erase(found);
    return message;
  }

  // Returns the receive that gets the message. If there is none, keeps the message by moving from
  // it.
  [[nodiscard]] std::optional<Receive> arrive(Arrived& message) {
    const auto found = std::ranges::find_if(
        posted_, [&](const Receive& receive) { return matches(receive, message); });
    if (found == posted_.end()) {
      arrived_.push_back(std::move(message));
      return std::nullopt;
    }
    std::optional<Receive> receive(std::move(*found));
    posted_.erase(found);
    return receive;
  }

  [[nodiscard]] bool has_receive_for(const Arrived& message) const {
    return std::ranges::any_of(posted_,
                               [&](const Receive& receive) { return matches(receive, message); });
  }
  // True if an earlier receive for which `counts` is true may take a message that matches this one.
  [[nodiscard]] bool has_rival(const Receive& receive,
                               const std::function<bool(const Receive&)>& counts) const {
    return std::ranges::any_of(
        posted_, [&](const Receive& other) { return matches(other, receive) && counts(other); });
  }
  [[nodiscard]] const std::list<Arrived>& arrived() const { return arrived_; }
  void withdraw(const std::function<bool(const Receive&)>& which) { posted_.remove_if(which); }
  void forget(const std::function<bool(const Arrived&)>& which) { arrived_.remove_if(which); }

 private:
  [[nodiscard]] static bool matches(const Receive& receive, const auto& message) {
    return (receive.source() == kAnySource || receive.source() == message.source()) &&
           (receive.tag() == kAnyTag || receive.tag() == message.tag());
  }

  std::list<Receive> posted_;   // in the order in which they were posted
  std::list<Arrived> arrived_;  // in the order in which they arrived
};

}  // namespace bp
