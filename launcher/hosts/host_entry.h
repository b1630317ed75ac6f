// The syntax that all notations of hosts share: the name of a host and its fields. All functions
// that have `where` throw invalid_argument with it before the text.
#pragma once

#include <string>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// Parses "[USER@]NAME" and sets no other field. NAME may contain ranges, as in "gpu[01-08]", and
// then stands for several hosts; or it is an IPv6 address in brackets. The brackets must match
// (split_entries() checks that).
[[nodiscard]] Hosts parse_host_name(const std::string& text, const std::string& where);

// Parses "[USER@]NAME[:SLOTS][:KEY=VALUE]...", as in "u@gpu[01-08]:4:port=2222:gpus=[0,2]".
[[nodiscard]] Hosts parse_host_entry(const std::string& text, const std::string& where);

// Parses the notation of -H, "a:3,gpu[01-08]:4,u@b:1:port=2222,[fe80::1]:2,c": a list of entries,
// each in the form of parse_host_entry(). Throws invalid_argument naming the bad entry.
[[nodiscard]] Hosts parse_host_list(const std::string& text);

// Sets one field: slots, max_slots, gpus ("0,2-3", perhaps in brackets), iface, port, user or
// weight.
void set_host_field(Host& host,
                    const std::string& key,
                    const std::string& value,
                    const std::string& where);

// Sets a field from "KEY=VALUE".
void set_host_field(Host& host, const std::string& word, const std::string& where);

void check_slots(const Host& host, const std::string& where);  // refuses max_slots < slots

}  // namespace bp::launcher
