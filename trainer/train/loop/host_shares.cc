#include "trainer/train/loop/host_shares.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <optional>

#include "base/host_weights.h"
#include "base/input_error.h"
#include "base/number.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "bp/environment.h"
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

std::vector<double> weights_of_ranks(const Topology& topology) {
  const char* const text = std::getenv(kHostWeights);
  if (text == nullptr || Environment::current().launcher != "bprun") return {};
  std::vector<double> weights;
  for (const std::string& part : split_at_commas(text)) {
    weights.push_back(number_in<double>(part).value_or(0));
  }
  const bool all = std::ranges::all_of(weights, [](double weight) { return weight > 0; });
  if (!all || std::ssize(weights) != topology.hosts()) {
    throw InputError(2, concat(kHostWeights, "=", text, " is not a number above 0 for each host"),
                     "bprun sets it; leave it as it is");
  }
  if (std::ranges::adjacent_find(weights, std::not_equal_to()) == weights.end()) return {};
  for (std::size_t host = 0; host < weights.size(); ++host) {
    weights[host] *= topology.local_sizes[host];
  }
  return of_ranks(weights, topology);
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
