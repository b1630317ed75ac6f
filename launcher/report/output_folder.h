// The folder in which --output DIR puts the files of one job.
#pragma once

#include <string>

namespace bp::launcher {

// Creates DIR/20261123-004507-JOB, points the link DIR/latest to it, and returns the folder. `job`
// is the job's name, so that two jobs never share a folder. Throws io naming the path if it cannot
// be created. Leaves a `latest` that is not a link alone.
[[nodiscard]] std::string make_output_folder(const std::string& parent, const std::string& job);

}  // namespace bp::launcher
