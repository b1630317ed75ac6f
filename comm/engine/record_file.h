// A flight recorder's content as a file, for whoever looks for the cause of a failure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bp/activity.h"

namespace bp {

struct RecordOwner {
  int world_rank = 0;
  std::string_view group;
  std::string_view failure;  // why the communicator ended
};

// A line an operation, oldest first, under a heading.
[[nodiscard]] std::string format_record(const RecordOwner& owner,
                                        std::span<const RecordedOperation> operations);

// Writes that to FOLDER/rank.N/collectives.GROUP.txt, which replaces an earlier one. Where that
// fails it is logged: the failure that made us write is the one to tell.
void write_record(const std::string& folder,
                  const RecordOwner& owner,
                  std::span<const RecordedOperation> operations);

}  // namespace bp
