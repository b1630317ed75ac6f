// What the notations of hosts have in common: how a host is named, and what can be said of it.
// All throw invalid_argument with `where` before the text.
#pragma once

#include <string>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// "[USER@]NAME" without anything else set. NAME may have ranges, "gpu[01-08]", and then stands for
// many hosts, or is an IPv6 address in brackets. Brackets match (split_entries).
[[nodiscard]] Hosts parse_host_name(const std::string& text, const std::string& where);

// "[USER@]NAME[:SLOTS][:KEY=VALUE]...", as "u@gpu[01-08]:4:port=2222:gpus=[0,2]".
[[nodiscard]] Hosts parse_host_entry(const std::string& text, const std::string& where);

// slots, max_slots, gpus ("0,2-3", perhaps in brackets), iface, port or user.
void set_host_field(Host& host,
                    const std::string& key,
                    const std::string& value,
                    const std::string& where);

// "KEY=VALUE"
void set_host_field(Host& host, const std::string& word, const std::string& where);

void check_slots(const Host& host, const std::string& where);  // max_slots is not less than slots

}  // namespace bp::launcher
