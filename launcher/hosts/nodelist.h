// Slurm's short forms of many hosts and of their counts.
#pragma once

#include <string>
#include <vector>

namespace bp::launcher {

// "n[1-2,7],gpu[08-10],login" to n1, n2, n7, gpu08, gpu09, gpu10, login; of several brackets in a
// name the left one turns slowest. As scontrol, refuses text after the last bracket. Throws
// invalid_argument with `where` before the text; also for more than 65,536 hosts.
[[nodiscard]] std::vector<std::string> parse_nodelist(const std::string& text,
                                                      const std::string& where);

// "2(x3),1" to 2, 2, 2, 1. Throws likewise.
[[nodiscard]] std::vector<int> parse_node_counts(const std::string& text, const std::string& where);

}  // namespace bp::launcher
