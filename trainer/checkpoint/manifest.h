// manifest.json: the files of a checkpoint with their sizes and hashes. It is written last, so a
// folder that agrees with its manifest is complete.
//
//   {"format": 1, "hash": "XXH3-128", "files": {"state.json": {"size": 2113, "hash": "9f0c..."}}}
//
// The hash detects damage. It does not protect against forgery (trainer/common/hash.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "trainer/common/hash.h"

namespace bp::trainer {

inline constexpr const char* kManifestName = "manifest.json";

using Manifest = std::map<std::string, FileHash>;  // by the file's name

[[nodiscard]] std::string to_json(const Manifest& manifest);
// Throws invalid_argument that says what is wrong: broken JSON, another format, a name with a
// slash.
[[nodiscard]] Manifest parse_manifest(const std::string& json);

// Puts every file of `folder` on disk, writes the manifest, and puts that and the folder itself on
// disk. Throws io with the path.
void write_manifest(const std::string& folder);

// Returns why `folder` is not a complete checkpoint ("model.safetensors has 12 bytes instead of
// 345"), or "" if it is one. Reads all of its files.
[[nodiscard]] std::string damage_of(const std::string& folder);

}  // namespace bp::trainer
