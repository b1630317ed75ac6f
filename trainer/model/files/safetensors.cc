#include "trainer/model/files/safetensors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/whole_file.h"

namespace bp::trainer {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::uint64_t kLengthBytes = 8;
constexpr int kMaxDepth = 4;  // {"name": {"shape": [1, 2]}}

std::uint64_t bytes_of(const SafetensorsEntry& entry) {
  std::uint64_t bytes = element_bytes(entry.type);
  if (bytes == 0) {
    refuse(concat(in_quotes(entry.name), " has unknown type ", in_quotes(entry.type)));
  }
  for (const std::int64_t size : entry.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
      refuse(concat("the shape of ", in_quotes(entry.name), " is too large"));
    }
  }
  return bytes;
}

// Throws for duplicate keys, which nlohmann's parser would merge silently.
Json parse_strictly(const std::string& text) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMaxDepth) refuse("the header is nested too deeply");
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      refuse(concat("the header names ", in_quotes(value.get<std::string>()), " twice"));
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    refuse(concat("the header is broken JSON: ", printable(error.what())));
  }
}

std::uint64_t natural(const Json& json, const std::string& name, const char* what) {
  if (!json.is_number_unsigned()) {
    refuse(concat(in_quotes(name), ": a number in ", what, " is not a natural number"));
  }
  return json.get<std::uint64_t>();
}

SafetensorsEntry parse_entry(const std::string& name, const Json& json) {
  SafetensorsEntry entry;
  entry.name = name;
  const bool complete = json.is_object() && json.contains("dtype") && json["dtype"].is_string() &&
                        json.contains("shape") && json["shape"].is_array() &&
                        json.contains("data_offsets") && json["data_offsets"].is_array() &&
                        json["data_offsets"].size() == 2;
  if (!complete) refuse(concat(in_quotes(name), " lacks a dtype, a shape or two data_offsets"));
  entry.type = json["dtype"].get<std::string>();
  for (const Json& size : json["shape"]) {
    const std::uint64_t n = natural(size, name, "shape");
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse(concat("the shape of ", in_quotes(name), " is too large"));
    }
    entry.shape.push_back(static_cast<std::int64_t>(n));
  }
  entry.begin = natural(json["data_offsets"][0], name, "data_offsets");
  entry.end = natural(json["data_offsets"][1], name, "data_offsets");
  const std::uint64_t bytes = bytes_of(entry);
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    refuse(concat(in_quotes(name), " is said to lie at bytes ", entry.begin, " to ", entry.end,
                  ", but its shape needs ", bytes, " bytes"));
  }
  return entry;
}

}  // namespace

std::uint64_t element_bytes(std::string_view type) {
  for (const std::string_view t : {"BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3"}) {
    if (type == t) return 1;
  }
  for (const std::string_view t : {"I16", "U16", "F16", "BF16"}) {
    if (type == t) return 2;
  }
  for (const std::string_view t : {"I32", "U32", "F32"}) {
    if (type == t) return 4;
  }
  for (const std::string_view t : {"I64", "U64", "F64"}) {
    if (type == t) return 8;
  }
  return 0;
}

SafetensorsHeader parse_safetensors_header(const std::string& text, std::uint64_t data_bytes) {
  if (text.empty() || text.front() != '{') refuse("the header does not begin with '{'");
  const Json json = parse_strictly(text);
  SafetensorsHeader header;
  for (const auto& [name, value] : json.items()) {
    if (name != "__metadata__") {
      header.entries.push_back(parse_entry(name, value));
      continue;
    }
    if (!value.is_object()) refuse("__metadata__ is not an object");
    for (const auto& [key, word] : value.items()) {
      if (!word.is_string()) refuse(concat("__metadata__ ", in_quotes(key), " is not a string"));
      header.metadata[key] = word.get<std::string>();
    }
  }
  std::sort(header.entries.begin(), header.entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
            });
  std::uint64_t expected = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin != expected) {
      refuse(concat(in_quotes(entry.name), " begins at byte ", entry.begin,
                    ", but what is before it ends at ", expected));
    }
    expected = entry.end;
  }
  if (expected != data_bytes) {
    refuse(concat("the header describes ", expected, " bytes, but ", data_bytes, " follow it"));
  }
  return header;
}

class SafetensorsReader::Impl {
 public:
  Impl(std::unique_ptr<ByteSource> source, const std::string& name) : source_(std::move(source)) {
    const std::uint64_t size = source_->size();
    try {
      if (size < kLengthBytes) refuse(concat("it has only ", size, " bytes"));
      const auto length = little_endian<std::uint64_t>(read_text(*source_, 0, kLengthBytes).data());
      if (length > kMaxHeader || length > size - kLengthBytes) {
        refuse(concat("its header is said to have ", length, " bytes; the file has ", size));
      }
      data_begin_ = kLengthBytes + length;
      header_ =
          parse_safetensors_header(read_text(*source_, kLengthBytes, length), size - data_begin_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      refuse(concat(name, " is not a valid safetensors file: ", error.what()));
    }
  }

  std::unique_ptr<ByteSource> source_;
  std::uint64_t data_begin_ = 0;
  SafetensorsHeader header_;
};

SafetensorsReader::SafetensorsReader(const std::string& path)
    : SafetensorsReader(std::make_unique<FileBytes>(path), path) {}
SafetensorsReader::SafetensorsReader(std::unique_ptr<ByteSource> source, const std::string& name)
    : impl_(std::make_unique<Impl>(std::move(source), name)) {}
SafetensorsReader::~SafetensorsReader() = default;

const SafetensorsHeader& SafetensorsReader::header() const { return impl_->header_; }

void SafetensorsReader::read(const SafetensorsEntry& entry, void* to) const {
  impl_->source_->read(impl_->data_begin_ + entry.begin, to, entry.end - entry.begin);
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<SafetensorsItem> items)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (!file_) throw Error(ErrorCode::io, concat("cannot create ", path, ": ", error_text(errno)));
  for (SafetensorsItem& item : items) {
    Place& place = places_[item.name];
    place.bytes = bytes_of({item.name, item.type, item.shape, 0, 0});
    place.item = std::move(item);
  }
  nlohmann::ordered_json json;
  json["__metadata__"] = {{"format", "pt"}};
  std::uint64_t end = 0;
  for (auto& [name, place] : places_) {
    place.begin = std::exchange(end, end + place.bytes);
    json[name] = {{"dtype", place.item.type},
                  {"shape", place.item.shape},
                  {"data_offsets", {place.begin, end}}};
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the data
  unsigned char length_bytes[kLengthBytes];
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length_bytes[i] = static_cast<unsigned char>(text.size() >> (8 * i));
  }
  const std::uint64_t data_begin = kLengthBytes + text.size();
  for (auto& [name, place] : places_) place.begin += data_begin;
  size_ = left_ = data_begin + end;
  write(length_bytes, kLengthBytes);
  write(text.data(), text.size());
}

void SafetensorsWriter::write(const void* bytes, std::uint64_t count) {
  const std::size_t written = write_all(file_.get(), bytes, count);
  left_ -= written;
  if (written < count) fail_to_write(path_, errno, left_);
}

void SafetensorsWriter::seek(std::uint64_t place) {
  if (::lseek(file_.get(), static_cast<off_t>(place), SEEK_SET) < 0) {
    fail_to_write(path_, errno, left_);
  }
}

void SafetensorsWriter::write_piece(const std::string& item,
                                    std::uint64_t offset,
                                    std::span<const std::byte> bytes) {
  const auto found = places_.find(item);
  if (found == places_.end()) return;
  found->second.has_pieces = true;
  seek(found->second.begin + offset);
  write(bytes.data(), bytes.size());
}

void SafetensorsWriter::finish() {
  for (const auto& [name, place] : places_) {
    if (place.has_pieces) continue;
    seek(place.begin);
    write(place.item.data, place.bytes);
  }
  BP_CHECK(left_ == 0, "a tensor was not written as a whole");
  if (::fsync(file_.get()) != 0) fail_to_write(path_, errno, size_);
}

void write_safetensors(const std::string& path, std::vector<SafetensorsItem> items) {
  SafetensorsWriter(path, std::move(items)).finish();
}

}  // namespace bp::trainer
