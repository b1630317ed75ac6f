#include "launcher/hosts/host_selection.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "base/joined.h"
#include "base/nearest.h"
#include "base/refuse.h"
#include "base/text.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/nodelist.h"
#include "launcher/hosts/rank_list.h"

namespace bp::launcher {
namespace {

// What a choice names of a host: some of its slots, or all.
struct Chosen {
  std::set<int> slots;
  bool all = false;
};
using Choice = std::map<std::string, Chosen>;

bool is_number_or_range(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789-") == std::string::npos;
}

void add_slots(Chosen& chosen, const std::string& word, const std::string& option) {
  const std::size_t dash = word.find('-');
  const std::string last = dash == std::string::npos ? word : word.substr(dash + 1);
  const int begin = parse_number(word.substr(0, dash), "each slot", 0, kMaxSlots - 1, option);
  const int end = parse_number(last, "each slot", begin, kMaxSlots - 1, option);
  for (int slot = begin; slot <= end; ++slot) chosen.slots.insert(slot);
}

// Returns the index of the colon before a host's slots; npos if the word names the whole host.
std::size_t slots_colon(const std::string& word) {
  const std::size_t bracket = word.rfind(']');
  return word.find(':', bracket == std::string::npos ? 0 : bracket);
}

Choice parse_choice(std::string text, const std::string& option) {
  std::replace(text.begin(), text.end(), '@', ',');
  Choice choice;
  std::vector<std::string> latest;  // the hosts to which further slot numbers belong
  for (const std::string& word : split_entries(text, option)) {
    const std::size_t colon = slots_colon(word);
    const bool more_slots = !latest.empty() && is_number_or_range(word);
    if (!more_slots) {
      latest.clear();
      for (Host& host : parse_host_name(word.substr(0, colon), option)) {
        latest.push_back(std::move(host.name));
      }
    }
    const bool whole = !more_slots && colon == std::string::npos;
    const std::string slots = more_slots ? word : whole ? "" : word.substr(colon + 1);
    for (const std::string& name : latest) {
      if (whole) {
        choice[name].all = true;
      } else {
        add_slots(choice[name], slots, option);
      }
    }
    if (whole) latest.clear();
  }
  return choice;
}

// Returns the numbers of a host's slots: its GPUs if it has one for each slot, else 0, 1, ...
std::vector<int> slot_numbers(const Host& host) {
  const auto count = static_cast<std::size_t>(host.capacity());
  if (host.gpus && host.gpus->size() == count) return *host.gpus;
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void check_hosts_exist(const Hosts& hosts, const Choice& choice, const std::string& option) {
  std::vector<std::string> names;
  for (const Host& host : hosts) names.push_back(host.name);
  const std::set<std::string> known(names.begin(), names.end());
  const auto is_unknown = [&](const auto& entry) { return !known.contains(entry.first); };
  const auto unknown = std::find_if(choice.begin(), choice.end(), is_unknown);
  if (unknown == choice.end()) return;
  const std::string nearest = nearest_name(unknown->first, names);
  refuse(option, concat("there is no host ", unknown->first, "; ",
                        nearest.empty() ? concat("the hosts are ", joined_up_to(8, names))
                                        : concat("did you mean ", nearest, "?")));
}

void check_slots_exist(const Host& host, const Chosen& chosen, const std::string& option) {
  const auto numbers = slot_numbers(host);
  for (const int slot : chosen.slots) {
    if (std::find(numbers.begin(), numbers.end(), slot) == numbers.end()) {
      refuse(option, concat(host.name, " has no slot ", slot, "; it has ", rank_ranges(numbers)));
    }
  }
}

// Returns the host with the slots that remain.
Host reduced(Host host, const Chosen& chosen, bool keep_chosen) {
  const auto numbers = slot_numbers(host);
  std::vector<int> kept;
  for (const int slot : numbers) {
    if ((chosen.all || chosen.slots.contains(slot)) == keep_chosen) kept.push_back(slot);
  }
  if (kept.size() == numbers.size()) return host;
  host.slots = static_cast<int>(kept.size());
  host.max_slots.reset();
  host.gpus = std::move(kept);
  return host;
}

}  // namespace

Hosts select_hosts(Hosts hosts, const HostSelection& selection) {
  if (!selection.include && !selection.exclude) return hosts;
  const bool including = selection.include.has_value();
  const std::string option = including ? "--include" : "--exclude";
  if (including && selection.exclude) {
    refuse(option, "give only one of --include and --exclude");
  }
  const Choice choice = parse_choice(including ? *selection.include : *selection.exclude, option);
  check_hosts_exist(hosts, choice, option);
  Hosts left;
  for (Host& host : hosts) {
    const auto found = choice.find(host.name);
    const Chosen chosen = found == choice.end() ? Chosen{} : found->second;
    check_slots_exist(host, chosen, option);
    Host rest = reduced(std::move(host), chosen, including);
    if (rest.slots != 0) left.push_back(std::move(rest));
  }
  if (left.empty()) refuse(option, "no host is left");
  return left;
}

}  // namespace bp::launcher
