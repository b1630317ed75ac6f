// Reads a tokenizer.json and refuses, by its place in the file, what bp does not have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace bp::trainer {

using Json = nlohmann::json;

// Throws invalid_argument naming `path` if it is no JSON, or nested deeper than 20 levels.
[[nodiscard]] Json parse_json(const std::string& text, const std::string& path);

// A value of the file with its place, such as "normalizer.lowercase". The JSON and the path must
// outlive it. Every function but at() throws invalid_argument naming file, place and value.
class JsonPlace {
 public:
  JsonPlace(const std::string& path, const Json& value) : path_(&path), value_(&value) {}

  // The value below these keys, null if it is absent: at("post_processor.sep.1").
  [[nodiscard]] JsonPlace at(std::string_view keys) const;
  [[nodiscard]] const Json& value() const { return *value_; }

  // Refuses the file: "tokenizer.json: normalizer.lowercase is 3; WHY".
  [[noreturn]] void refuse_value(const std::string& why) const;
  void require(const Json& only) const;
  // Allows null as well.
  void require_if_given(const Json& only) const;

  [[nodiscard]] bool flag() const;
  [[nodiscard]] bool flag_or(bool otherwise) const;
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] std::int32_t id() const;  // 0 or more
  [[nodiscard]] const Json& list() const;
  [[nodiscard]] std::vector<JsonPlace> items() const;  // of a list
  // Returns the steps here: none for null, the one that stands here, or those of a Sequence, which
  // has them under `key`.
  [[nodiscard]] std::vector<JsonPlace> steps(const char* key) const;

 private:
  const std::string* path_;
  std::string keys_;
  const Json* value_;
};

}  // namespace bp::trainer
