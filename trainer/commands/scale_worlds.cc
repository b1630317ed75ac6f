#include "trainer/commands/scale_worlds.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/input_error.h"
#include "base/options/value_text.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kThisMachineTwice = "localhost,127.0.0.1";

std::vector<std::string> parts_between(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::string hosts_of_world(const std::string& world, const std::string& hosts) {
  const std::vector<std::string> names =
      parts_between(hosts.empty() ? kThisMachineTwice : hosts, ',');
  const std::vector<std::string> counts = parts_between(world, '+');
  if (counts.size() > names.size()) {
    throw InputError(
        2,
        concat("--worlds: '", world, "' has ", counts.size(), " hosts, and --hosts ",
               hosts.empty() ? "has two without a value" : concat("has ", names.size())),
        "name the hosts in order: --hosts a,b,c");
  }
  std::string list;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    constexpr int kMostRanks = 1 << 20;
    const int ranks = number_in<int>(counts[i]).value_or(0);
    if (ranks < 1 || ranks > kMostRanks) {
      throw InputError(2, concat("--worlds: '", world, "' is not a world"),
                       "ranks of each host: --worlds 1,2,3+1");
    }
    if (names[i].empty() || names[i].find(':') != std::string::npos) {
      throw InputError(2, concat("--hosts: '", names[i], "' is not a name of a host"),
                       "names alone, as --worlds has the ranks: --hosts a,b");
    }
    list += concat(list.empty() ? "" : ",", names[i], ":", ranks);
  }
  return list;
}

std::vector<std::string> arguments_of_world(const std::vector<std::string>& scale) {
  constexpr std::array<std::string_view, 4> kOwn{"-H", "--hosts", "--worlds", "--out"};
  std::vector<std::string> words;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const std::string_view name = std::string_view(scale[i]).substr(0, scale[i].find('='));
    if (std::ranges::count(kOwn, name) == 0) {
      words.push_back(scale[i]);
    } else if (name.size() == scale[i].size()) {
      ++i;  // its value
    }
  }
  return words;
}

}  // namespace bp::trainer
