#include "comm/engine/link_monitor.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "base/text.h"

namespace bp {

LinkMonitor::LinkMonitor(Transport& transport,
                         std::vector<int> ranks,
                         std::vector<std::string> hosts)
    : transport_(transport),
      ranks_(std::move(ranks)),
      hosts_(std::move(hosts)),
      watches_(ranks_.size()) {}

std::string LinkMonitor::name_of(int peer) const {
  const auto index = static_cast<std::size_t>(peer);
  const std::string rank = concat("rank ", ranks_[index]);
  return index < hosts_.size() ? concat(rank, " on ", hosts_[index]) : rank;
}

std::string LinkMonitor::text_of(int peer, const DeadLink& dead) const {
  const std::string own = name_of(transport_.rank());
  const std::string other = name_of(peer);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(dead.silent).count();
  if (dead.hears_peer) {
    return concat(other, " gets nothing from ", own, ": ", dead.in_flight,
                  " bytes are not acknowledged for ", seconds, " s, although packets of ", other,
                  " arrive; the network loses packets on the way there, perhaps only large ones "
                  "(is an MTU too large, or does a firewall drop them?)");
  }
  return concat(own, " gets nothing from ", other, ", not even ",
                dead.in_flight > 0 ? concat("an acknowledgement of ", dead.in_flight, " bytes")
                                   : "an answer to keepalive probes",
                " for ", seconds,
                " s; the network between the two carries nothing (has a firewall or NAT forgotten "
                "the connection, or is a route gone?)");
}

LinkMonitor::Finding LinkMonitor::look(std::chrono::milliseconds least) {
  const std::lock_guard lock(mutex_);
  const auto now = LinkWatch::Clock::now();
  Finding found;
  int others = 0;
  for (int peer = 0; peer < transport_.size(); ++peer) {
    const auto state = peer == transport_.rank() ? std::nullopt : transport_.look(peer);
    if (!state) continue;
    const auto dead = watches_[static_cast<std::size_t>(peer)].look(*state, now);
    if (!dead || dead->silent < least) continue;
    if (found.peer < 0) {
      found = {.peer = peer, .text = text_of(peer, *dead)};
    } else {
      ++others;
    }
  }
  if (others > 0) found.text += concat("; the same holds for ", others, " more ranks");
  return found;
}

}  // namespace bp
