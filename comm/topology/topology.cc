#include "bp/topology.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "base/number.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

int parse_local_size(std::string_view field, std::size_t host, const std::string& text) {
  int size = 0;
  if (!read_number(field, size) || size < 1) {
    throw Error(ErrorCode::invalid_argument,
                concat("local sizes \"", text, "\": \"", field, "\", the size of host ", host,
                       ", is not a whole number of at least 1 (expected something like 3,1)"));
  }
  return size;
}

}  // namespace

int Topology::size() const { return std::accumulate(local_sizes.begin(), local_sizes.end(), 0); }

Topology::Place Topology::place_of(int other) const {
  int left = other;
  for (int host = 0; other >= 0 && host < hosts(); ++host) {
    const int local_size = local_sizes[static_cast<std::size_t>(host)];
    if (left < local_size) {
      return {.host = host, .local_rank = left};
    }
    left -= local_size;
  }
  throw Error(ErrorCode::invalid_argument,
              concat("rank ", other, " is not one of the ", size(), " ranks 0 to ", size() - 1));
}

int Topology::leader_of(int host) const {
  if (host < 0 || host >= hosts()) {
    throw Error(ErrorCode::invalid_argument,
                concat("host ", host, " is not one of the ", hosts(), " hosts 0 to ", hosts() - 1));
  }
  return std::accumulate(local_sizes.begin(), local_sizes.begin() + host, 0);
}

std::string Topology::host_name(int host) const {
  const auto index = static_cast<std::size_t>(host);
  return host >= 0 && index < host_names.size() ? host_names[index] : concat("host ", host);
}

std::vector<int> parse_local_sizes(const std::string& text) {
  std::vector<int> sizes;
  int total = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view field = std::string_view(text).substr(begin, end - begin);
    sizes.push_back(parse_local_size(field, sizes.size(), text));
    if (sizes.back() > std::numeric_limits<int>::max() - total) {
      throw Error(ErrorCode::invalid_argument,
                  concat("local sizes \"", text, "\": their sum does not fit an int"));
    }
    total += sizes.back();
    begin = end + 1;
  }
  return sizes;
}

}  // namespace bp
