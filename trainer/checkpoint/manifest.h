// manifest.json: what belongs to a checkpoint, with sizes and hashes. It is written last, so a
// folder that agrees with its manifest is complete.
//
//   {"format": 1, "hash": "XXH3-128", "files": {"state.json": {"size": 2113, "hash": "9f0c..."}}}
//
// The hash tells damage, it is no protection against someone who forges (trainer/data/hash.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "trainer/data/hash.h"

namespace bp::trainer {

inline constexpr const char* kManifestName = "manifest.json";

using Manifest = std::map<std::string, FileHash>;  // by the file's name

[[nodiscard]] std::string to_json(const Manifest& manifest);
// Throws invalid_argument saying what is wrong: broken JSON, another format, a name with a slash.
[[nodiscard]] Manifest parse_manifest(const std::string& json);

// Puts every file of `folder` on disk, writes the manifest, and puts that and the folder itself on
// disk. Throws io, naming the path.
void write_manifest(const std::string& folder);

// Why `folder` is no complete checkpoint ("model.safetensors has 12 bytes instead of 345"); "" when
// it is one. Reads all of it.
[[nodiscard]] std::string damage_of(const std::string& folder);

}  // namespace bp::trainer
