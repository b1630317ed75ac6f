#include "trainer/train/loop/host_shares.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/input_error.h"
#include "base/number.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "trainer/common/text_list.h"

namespace bp::trainer {

std::map<std::string, double> parse_host_shares(std::string_view option, const std::string& text) {
  const std::string hint = concat("equal, auto, or the share of each host: ", option, " a:3,b:1");
  std::map<std::string, double> shares;
  for (const std::string& part : split_at_commas(text)) {
    const std::size_t colon = part.rfind(':');
    const auto share = colon == std::string::npos
                           ? std::nullopt
                           : number_in<double>(std::string_view(part).substr(colon + 1));
    if (!share || !(*share >= 0) || !shares.emplace(part.substr(0, colon), *share).second) {
      throw InputError(2, concat(option, ": '", part, "' is not the share of one more host"), hint);
    }
  }
  const bool is_empty =
      std::ranges::all_of(shares, [](const auto& one) { return one.second == 0; });
  if (is_empty) throw InputError(2, concat(option, " gives nobody a share"), hint);
  return shares;
}

std::vector<double> shares_of_hosts(std::string_view option,
                                    const std::string& text,
                                    const Topology& topology) {
  std::map<std::string, double> given = parse_host_shares(option, text);
  std::vector<double> shares;
  std::vector<std::string> names;
  for (int host = 0; host < topology.hosts(); ++host) {
    names.push_back(topology.host_name(host));
    const auto found = given.extract(names.back());
    if (found) shares.push_back(found.mapped());
  }
  if (shares.size() < names.size() || !given.empty()) {
    throw InputError(2, concat(option, " ", text, " does not name the hosts of this job"),
                     "give each a share: " + list_of(names, ", "));
  }
  return shares;
}

std::vector<double> of_ranks(const std::vector<double>& of_hosts, const Topology& topology) {
  std::vector<double> shares;
  for (std::size_t host = 0; host < of_hosts.size(); ++host) {
    const int ranks = topology.local_sizes[host];
    shares.insert(shares.end(), static_cast<std::size_t>(ranks), of_hosts[host] / ranks);
  }
  return shares;
}

}  // namespace bp::trainer
