// Where this tree and its build are. Tests get these paths from one source file, and not by a
// macro, so that ccache finds the objects of all others again in another clone.
#pragma once

#include <string>

namespace bp {

std::string source_dir();
std::string build_dir();

inline const std::string kSourceDir = source_dir();
inline const std::string kBuildDir = build_dir();
inline const std::string kBinDir = kBuildDir + "/bin";
// Test programs, and the libraries that only tests use.
inline const std::string kTestsDir = kBuildDir + "/tests";

}  // namespace bp
