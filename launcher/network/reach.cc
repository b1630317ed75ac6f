#include "launcher/network/reach.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/report/report_table.h"
#include "base/text.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kMostColumns = 16;  // columns of the matrix; more would not fit a screen
constexpr std::size_t kMostLines = 8;

bool asks(const std::vector<ProbedHost>& hosts, std::size_t from, std::size_t to) {
  return from != to && hosts[from].asks && hosts[from].machine != hosts[to].machine;
}

// Returns whether `from` reaches `to` by any address.
bool reaches(const ProbeMatrix& problems, std::size_t from, std::size_t to) {
  const auto& tried = problems[from][to];
  return std::ranges::any_of(tried, [](const std::string& text) { return text.empty(); });
}

// Returns the first host that does not reach this address of `to`; nothing if all reach it.
std::optional<std::size_t> first_failing_host(const std::vector<ProbedHost>& hosts,
                                              const ProbeMatrix& problems,
                                              std::size_t to,
                                              std::size_t address) {
  for (std::size_t from = 0; from < hosts.size(); ++from) {
    if (asks(hosts, from, to) && !problems[from][to][address].empty()) {
      return from;
    }
  }
  return std::nullopt;
}

bool is_needed(const std::vector<ProbedHost>& hosts, std::size_t to) {
  for (std::size_t from = 0; from < hosts.size(); ++from) {
    if (asks(hosts, from, to)) {
      return true;
    }
  }
  return false;
}

std::string hint_for_problem(const std::string& problem) {
  struct Sign {
    std::string_view text;
    std::string_view hint;
  };
  static constexpr std::array kSigns{
      Sign{"large packets",
           "an interface or a switch between them has a smaller MTU than the hosts: compare `ip "
           "link` of both, or try `ping -M do -s 1472`"},
      Sign{"no answer",
           "a firewall between them drops connections: open TCP ports between the "
           "hosts (32768-60999, the ephemeral ones)"},
      Sign{"refused",
           "a firewall between them refuses connections: open TCP ports between the "
           "hosts (32768-60999, the ephemeral ones)"},
      Sign{"another", "that address is another host's: name a network of their own"},
      Sign{"", "there is no route: name a network that the hosts have in common"},
  };
  const auto sign = std::ranges::find_if(
      kSigns, [&](const Sign& s) { return problem.find(s.text) != std::string::npos; });
  return concat(sign->hint, ", or another network (--interface 10.0.0.0/8, iface= of a host)");
}

// Returns "b does not reach a at 10.0.0.1 (eth0: no answer within 3.0 s), 10.1.0.1 (...)"
std::string line_of(const std::vector<ProbedHost>& hosts,
                    const ProbeMatrix& problems,
                    std::size_t from,
                    std::size_t to) {
  std::string text = concat(hosts[from].name, " does not reach ", hosts[to].name, " at ");
  for (std::size_t k = 0; k < hosts[to].addresses.size(); ++k) {
    const InterfaceAddress& address = hosts[to].addresses[k];
    text += concat(k == 0 ? "" : ", ", address.address, " (", address.interface, ": ",
                   problems[from][to][k], ")");
  }
  return text;
}

// Describes a host that each other host reaches, but that has no address that all of them reach.
Failure none_in_common(const std::vector<ProbedHost>& hosts,
                       const ProbeMatrix& problems,
                       std::size_t to) {
  Failure failure{.exit_code = kExitTemporary,
                  .headline = concat("no address of ", hosts[to].name, " is reached by all hosts")};
  for (std::size_t k = 0; k < hosts[to].addresses.size(); ++k) {
    const std::size_t from = *first_failing_host(hosts, problems, to, k);
    failure.more.push_back(concat(hosts[to].addresses[k].address, " (",
                                  hosts[to].addresses[k].interface, ") not by ", hosts[from].name,
                                  ": ", problems[from][to][k]));
  }
  failure.hint = "the hosts need one network in common; route between them, or leave one out";
  failure.hosts = {hosts[to].name};
  return failure;
}

// Returns the host with the most failed pairs; a restart should leave that one out.
std::size_t worst_host(const std::vector<ProbedHost>& hosts, const ProbeMatrix& problems) {
  std::vector<int> troubles(hosts.size());
  for (std::size_t from = 0; from < hosts.size(); ++from) {
    for (std::size_t to = 0; to < hosts.size(); ++to) {
      if (asks(hosts, from, to) && !reaches(problems, from, to)) {
        ++troubles[from];
        // Does not count for the launcher, which a job cannot leave out.
        troubles[to] += hosts[to].asks ? 1 : 0;
      }
    }
  }
  const auto worst = std::max_element(troubles.rbegin(), troubles.rend());
  return static_cast<std::size_t>(troubles.rend() - worst) - 1;
}

std::optional<Failure> failure_of_pairs(const std::vector<ProbedHost>& hosts,
                                        const ProbeMatrix& problems) {
  std::vector<std::string> lines;
  std::string hint;
  bool misses_launcher = false;
  for (std::size_t from = 0; from < hosts.size(); ++from) {
    for (std::size_t to = 0; to < hosts.size(); ++to) {
      if (asks(hosts, from, to) && !reaches(problems, from, to)) {
        misses_launcher = misses_launcher || !hosts[to].asks;
        lines.push_back(line_of(hosts, problems, from, to));
        hint = hint.empty()
                   ? hint_for_problem(problems[from][to].empty() ? "" : problems[from][to][0])
                   : hint;
      }
    }
  }
  if (lines.empty()) {
    return std::nullopt;
  }
  // Hosts of a cloud do not reach a laptop behind NAT, and need not if bprun runs on one of them.
  if (misses_launcher) hint += ", or run bprun on one of the hosts";
  Failure failure{.exit_code = kExitTemporary, .headline = lines.front(), .hint = hint};
  failure.more = matrix_text(hosts, problems);
  const std::size_t shown = std::min(lines.size(), kMostLines);
  failure.more.insert(failure.more.end(), lines.begin() + 1,
                      lines.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < lines.size()) {
    failure.more.push_back(concat("and ", lines.size() - shown, " more"));
  }
  failure.hosts = {hosts[worst_host(hosts, problems)].name};
  return failure;
}

}  // namespace

Reach choose_addresses(const std::vector<ProbedHost>& hosts, const ProbeMatrix& problems) {
  Reach reach{.addresses = std::vector<std::string>(hosts.size()),
              .failure = failure_of_pairs(hosts, problems)};
  for (std::size_t to = 0; to < hosts.size() && !reach.failure; ++to) {
    const auto& addresses = hosts[to].addresses;
    for (std::size_t k = 0; k < addresses.size() && reach.addresses[to].empty(); ++k) {
      if (!first_failing_host(hosts, problems, to, k)) {
        reach.addresses[to] = addresses[k].address;
      }
    }
    if (reach.addresses[to].empty() && is_needed(hosts, to)) {
      reach.failure = none_in_common(hosts, problems, to);
    }
  }
  return reach;
}

std::vector<std::string> matrix_text(const std::vector<ProbedHost>& hosts,
                                     const ProbeMatrix& problems) {
  if (hosts.size() > kMostColumns) {
    return {};
  }
  const std::string corner = "from \\ to";
  Table table = table_of({corner});
  for (const ProbedHost& host : hosts) table.columns.push_back({host.name, true, corner.size()});
  for (std::size_t from = 0; from < hosts.size(); ++from) {
    table.add({hosts[from].name});
    for (std::size_t to = 0; to < hosts.size(); ++to) {
      table.rows.back().cells.push_back({!asks(hosts, from, to)        ? "-"
                                         : reaches(problems, from, to) ? "yes"
                                                                       : "NO"});
    }
  }
  return terminal_lines(table);
}

}  // namespace bp::launcher
