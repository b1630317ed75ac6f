#include "launcher/hosts/host_list.h"

#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/nodelist.h"

namespace bp::launcher {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

Hosts parse_host_list(const std::string& text) {
  const std::string where = "-H";
  HostCollector hosts;
  for (const std::string& entry : split_entries(text, where)) {
    const std::string word = trimmed(entry);
    if (word.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  concat(where, ": an entry between the commas is empty"));
    }
    for (Host& host : parse_host_entry(word, where)) hosts.add(std::move(host), where);
  }
  return hosts.take();
}

}  // namespace bp::launcher
