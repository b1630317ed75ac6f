// Expands short forms of host lists and of Slurm's counts. All functions throw invalid_argument
// with `where` before the text, also for more than 65,536 hosts.
#pragma once

#include <string>
#include <vector>

namespace bp::launcher {

// Splits at the commas outside brackets: "n[1,2]:3,a" becomes "n[1,2]:3" and "a". Refuses brackets
// that do not match.
[[nodiscard]] std::vector<std::string> split_entries(const std::string& text,
                                                     const std::string& where);

// Expands "gpu[08-10,12]-ib" to gpu08-ib, gpu09-ib, gpu10-ib, gpu12-ib. With several brackets, the
// leftmost number changes slowest. The brackets must match (split_entries() checks that). Does not
// check the names.
[[nodiscard]] std::vector<std::string> expand_ranges(const std::string& name,
                                                     const std::string& where);

// Splits and expands a list such as SLURM_JOB_NODELIST, and checks each name.
[[nodiscard]] std::vector<std::string> parse_nodelist(const std::string& text,
                                                      const std::string& where);

// Expands "2(x3),1" to 2, 2, 2, 1.
[[nodiscard]] std::vector<int> parse_node_counts(const std::string& text, const std::string& where);

}  // namespace bp::launcher
