#include "launcher/sweep/driver/pool.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/joined.h"
#include "base/text.h"

namespace bp::launcher::sweep {

Pool::Pool(const Hosts& hosts) {
  for (const Host& host : hosts) {
    hosts_.push_back({host, std::vector<bool>(static_cast<std::size_t>(host.capacity()))});
  }
}

int Pool::all_slots() const {
  int slots = 0;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    slots += this->slots(i);
  }
  return slots;
}

std::vector<HostSlots> Pool::view() const {
  std::vector<HostSlots> view;
  for (const Entry& entry : hosts_) {
    const auto free = entry.present ? std::ranges::count(entry.taken, false) : 0;
    view.push_back({.host = entry.host.name,
                    .slots = entry.present ? static_cast<int>(entry.taken.size()) : 0,
                    .free = static_cast<int>(free)});
  }
  return view;
}

std::vector<HostSlots> Pool::view_of_all() const {
  std::vector<HostSlots> view;
  for (const Entry& entry : hosts_) {
    const auto slots = static_cast<int>(entry.taken.size());
    view.push_back({.host = entry.host.name, .slots = slots, .free = slots});
  }
  return view;
}

Pool::Lease Pool::take(const std::vector<Part>& parts) {
  Lease lease{parts, {}};
  for (const Part& part : parts) {
    auto& taken = hosts_.at(part.host).taken;
    auto& numbers = lease.numbers.emplace_back();
    for (std::size_t slot = 0; slot < taken.size() && std::ssize(numbers) < part.slots; ++slot) {
      if (!taken[slot]) {
        taken[slot] = true;
        numbers.push_back(static_cast<int>(slot));
      }
    }
    BP_CHECK(std::ssize(numbers) == part.slots, "a trial starts on slots that are not free");
  }
  return lease;
}

void Pool::give_back(const Lease& lease) {
  for (std::size_t i = 0; i < lease.parts.size(); ++i) {
    for (const int slot : lease.numbers[i]) {
      hosts_.at(lease.parts[i].host).taken.at(static_cast<std::size_t>(slot)) = false;
    }
  }
}

std::string Pool::host_list(const Lease& lease) const {
  std::string list;
  for (std::size_t i = 0; i < lease.parts.size(); ++i) {
    const Host& host = hosts_.at(lease.parts[i].host).host;
    const bool brackets = host.name.find(':') != std::string::npos;
    list += concat(list.empty() ? "" : ",", brackets ? "[" : "", host.name, brackets ? "]" : "",
                   ":", lease.parts[i].slots);
    if (!host.interface.empty()) {
      list += concat(":iface=", host.interface);
    }
    if (host.weight) list += concat(":weight=", *host.weight);
    if (host.gpus && std::ssize(*host.gpus) >= std::ssize(hosts_[lease.parts[i].host].taken)) {
      const auto gpu_of = [&](int slot) { return host.gpus->at(static_cast<std::size_t>(slot)); };
      list += concat(":gpus=[", joined(lease.numbers[i], ",", gpu_of), "]");
    }
  }
  return list;
}

std::string Pool::shown(const Lease& lease) const {
  return joined(lease.parts, ",", [&](const Part& part) {
    return concat(hosts_.at(part.host).host.name, ":", part.slots);
  });
}

int Pool::threads(const Lease& lease) const {
  int least = 0;
  for (const Part& part : lease.parts) {
    const Entry& entry = hosts_.at(part.host);
    if (entry.cores > 0) {
      const int threads = std::max(1, entry.cores / std::max(1, slots(part.host)));
      least = least == 0 ? threads : std::min(least, threads);
    }
  }
  return least;
}

}  // namespace bp::launcher::sweep
