#include "comm/engine/engine_setup.h"

#include "base/text.h"

namespace bp {

int EngineSetup::launcher_rank(int member) const {
  const int in_world = transport_rank(member);
  return job ? job->launcher_rank(in_world) : in_world;
}

std::string EngineSetup::rank_text(int member) const {
  if (member < 0) return "another rank";
  if (group == "world") return concat("rank ", member);
  return concat("rank ", member, " of ", group, " (world rank ", launcher_rank(member), ")");
}

}  // namespace bp
