// A flight recorder's content as a file, for the person who looks for the cause of a failure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bp/activity.h"

namespace bp {

struct RecordOwner {
  int world_rank = 0;
  std::string_view group;
  std::string_view failure;  // why the communicator failed
};

// Returns a heading, and one line for each operation, oldest first.
[[nodiscard]] std::string format_record(const RecordOwner& owner,
                                        std::span<const RecordedOperation> operations);

// Writes that to FOLDER/rank.N/collectives.GROUP.txt and replaces an earlier file. Logs an error
// instead of throwing it, because the caller is about to throw the communicator's failure.
void write_record(const std::string& folder,
                  const RecordOwner& owner,
                  std::span<const RecordedOperation> operations);

}  // namespace bp
