#include "launcher/agent/join_session.h"

#include <cstdio>
#include <vector>

#include "base/quoted.h"
#include "launcher/hosts/rank_list.h"

namespace bp::launcher {

void say_joined(const JoinSession& session, const JobSpec& job) {
  std::vector<int> ranks;
  for (const RankSpec& rank : job.ranks) ranks.push_back(rank.rank);
  std::fprintf(stderr, "bprun: joined %s, which prints the output of %s %s of this machine\n",
               session.server.c_str(), ranks.size() == 1 ? "rank" : "ranks",
               rank_ranges(ranks).c_str());
}

void say_lost(const JoinSession& session, const std::string& why) {
  std::fprintf(stderr, "bprun: lost bprun at %s: %s\n", session.server.c_str(),
               quoted_line(why).c_str());
}

void say_end(const End& end) {
  if (!end.text.empty()) std::fprintf(stderr, "%s\n", printable(end.text).c_str());
}

}  // namespace bp::launcher
