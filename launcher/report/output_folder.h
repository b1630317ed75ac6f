// Where --output DIR puts the files of one job.
#pragma once

#include <string>

namespace bp::launcher {

// Makes DIR/20261123-004507-JOB and has the link DIR/latest lead there; returns the former. `job`
// is the job's name, so that two jobs never share a folder. Throws io naming the path where it
// cannot be made. A `latest` that is no link stays as it is.
[[nodiscard]] std::string make_output_folder(const std::string& parent, const std::string& job);

}  // namespace bp::launcher
