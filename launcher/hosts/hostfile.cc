#include "launcher/hosts/hostfile.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "comm/store/quote.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/nodelist.h"

namespace bp::launcher {
namespace {

// Returns what to write for "h1:0,1,2", a host with the numbers of its GPUs as in TopSpin's servers
// file; "" for another word.
std::string gpus_advice(const std::string& word) {
  const std::size_t colon = word.rfind(':');
  const std::string gpus = colon == std::string::npos ? "" : word.substr(colon + 1);
  if (word.find(',') < colon || gpus.find_first_not_of("0123456789,") != std::string::npos) {
    return "";
  }
  return concat("; for a rank on each of these GPUs: ", word.substr(0, colon),
                " slots=", 1 + std::ranges::count(gpus, ','), " gpus=", gpus);
}

// Parses an entry as -H takes it, or a bare IPv6 address: no comma or colon follows it in this
// format.
Hosts parse_first_word(const std::string& word, const std::string& where) {
  if (split_entries(word, where).size() > 1) {
    throw Error(ErrorCode::invalid_argument,
                concat(where, ": '", word, "': one host a line", gpus_advice(word)));
  }
  const bool bare_ipv6 = std::count(word.begin(), word.end(), ':') > 1 &&
                         word.find_first_of("[=") == std::string::npos;
  return bare_ipv6 ? parse_host_name(concat("[", word, "]"), where) : parse_host_entry(word, where);
}

// A name with a NUL byte would be cut off there, in messages and by the system.
void check_no_nul(const std::string& line, const std::string& where) {
  if (line.find('\0') == std::string::npos) return;
  throw Error(ErrorCode::invalid_argument,
              concat(where, ": ", in_quotes(line),
                     " has a NUL byte (\\x00); is this a text file in UTF-8?"));
}

}  // namespace

Hosts parse_hostfile(std::string_view text, const std::string& name) {
  HostCollector hosts;
  std::istringstream lines{std::string(text)};
  std::string line;
  bool any = false;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string where = concat(name, ":", number);
    check_no_nul(line, where);
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    Hosts named = parse_first_word(word, where);
    while (words >> word) {
      for (Host& host : named) set_host_field(host, word, where);
    }
    for (Host& host : named) {
      check_slots(host, where);
      hosts.add(std::move(host), where);
    }
    any = true;
  }
  if (!any) throw Error(ErrorCode::invalid_argument, concat(name, ": names no host"));
  return hosts.take();
}

}  // namespace bp::launcher
