#include "trainer/checkpoint/manifest.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/input_error.h"
#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/whole_file.h"
#include "trainer/report/json.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

constexpr int kManifestFormat = 1;
constexpr const char* kHashName = "XXH3-128";

std::string damage_of_file(const std::string& folder, const std::string& name, const FileHash& is) {
  const std::string path = folder + "/" + name;
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return concat(name, ": ", error.message());
  if (size != static_cast<std::uint64_t>(is.size)) {
    return concat(name, " has ", size, " bytes instead of ", is.size);
  }
  if (hash_file(path).hex != is.hex) return concat(name, " is not what was written (XXH3 differs)");
  return "";
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  Json json{{"format", kManifestFormat}, {"hash", kHashName}, {"files", Json::object()}};
  for (const auto& [name, file] : manifest) {
    json["files"][name] = {{"size", file.size}, {"hash", file.hex}};
  }
  return json.dump(2) + '\n';
}

Manifest parse_manifest(const std::string& json) {
  try {
    const Json parsed = parse_own(json);
    const std::int64_t format = count_at(parsed, "format");
    if (format != kManifestFormat) {
      refuse(concat("its format is ", format, ", and this program knows ", kManifestFormat));
    }
    if (parsed.at("hash").get<std::string>() != kHashName) {
      refuse(concat("its hash is not ", kHashName));
    }
    Manifest manifest;
    for (const auto& [name, file] : parsed.at("files").items()) {
      if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos) {
        refuse(concat("'", name, "' is not a file of a checkpoint"));
      }
      manifest[name] = {count_at(file, "size"), file.at("hash").get<std::string>()};
    }
    if (!manifest.contains("state.json")) refuse("it does not name state.json");
    return manifest;
  } catch (const Json::exception& error) {
    refuse(error.what());
  }
}

void write_manifest(const std::string& folder) {
  Manifest manifest;
  try {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string path = entry.path().string();
      sync_file(path);
      manifest[entry.path().filename().string()] = hash_file(path);
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::io, concat("cannot read ", folder, ": ", error.code().message()));
  } catch (const InputError& error) {  // of hash_file()
    throw Error(ErrorCode::io, error.what());
  }
  write_whole_file(folder + "/" + kManifestName, to_json(manifest));
}

std::string damage_of(const std::string& folder) {
  std::ifstream in(folder + "/" + kManifestName, std::ios::binary);
  if (!in) return concat("it has no ", kManifestName);
  try {
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const auto& [name, file] : parse_manifest(text)) {
      if (std::string damage = damage_of_file(folder, name, file); !damage.empty()) return damage;
    }
    return "";
  } catch (const Error& error) {
    return concat(kManifestName, " is damaged: ", error.what());
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace bp::trainer
