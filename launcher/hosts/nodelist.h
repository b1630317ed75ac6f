// Short forms of many hosts, and of Slurm's counts. All throw invalid_argument with `where` before
// the text; also for more than 65,536 hosts.
#pragma once

#include <string>
#include <vector>

namespace bp::launcher {

// Between the commas that stand in no bracket: "n[1,2]:3,a" to "n[1,2]:3", "a". Brackets that do
// not match are refused.
[[nodiscard]] std::vector<std::string> split_entries(const std::string& text,
                                                     const std::string& where);

// "gpu[08-10,12]-ib" to gpu08-ib, gpu09-ib, gpu10-ib, gpu12-ib; of several brackets the left one
// turns slowest. Brackets match (split_entries). The names are not checked.
[[nodiscard]] std::vector<std::string> expand_ranges(const std::string& name,
                                                     const std::string& where);

// Both, as in SLURM_JOB_NODELIST, with each name checked.
[[nodiscard]] std::vector<std::string> parse_nodelist(const std::string& text,
                                                      const std::string& where);

// "2(x3),1" to 2, 2, 2, 1.
[[nodiscard]] std::vector<int> parse_node_counts(const std::string& text, const std::string& where);

}  // namespace bp::launcher
