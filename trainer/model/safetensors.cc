#include "trainer/model/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include <nlohmann/json.hpp>

#include "bp/error.h"
#include "comm/base/fd.h"
#include "comm/base/text.h"

namespace bp::trainer {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::uint64_t kLengthBytes = 8;

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, text);
}
[[noreturn]] void fail(const std::string& path, const char* what) {
  throw Error(ErrorCode::io, concat("cannot ", what, " ", path, ": ", error_text(errno)));
}

// Bytes of one element; 0 for a type that is not known.
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

std::uint64_t bytes_of(const SafetensorsEntry& entry) {
  std::uint64_t bytes = element_bytes(entry.type);
  if (bytes == 0) refuse(concat("'", entry.name, "' has unknown type '", entry.type, "'"));
  for (const std::int64_t size : entry.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
      refuse(concat("the shape of '", entry.name, "' is too large"));
    }
  }
  return bytes;
}

// nlohmann's parser merges doubled keys silently; this throws instead.
Json parse_strictly(const std::string& text) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int /*depth*/, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      refuse(concat("the header names '", value.get<std::string>(), "' twice"));
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    refuse(concat("the header is broken JSON: ", error.what()));
  }
}

std::uint64_t natural(const Json& json, const std::string& name, const char* what) {
  if (!json.is_number_unsigned()) {
    refuse(concat("'", name, "': a number in ", what, " is no natural number"));
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
  if (!complete) refuse(concat("'", name, "' lacks a dtype, a shape or two data_offsets"));
  entry.type = json["dtype"].get<std::string>();
  for (const Json& size : json["shape"]) {
    const std::uint64_t n = natural(size, name, "shape");
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse(concat("the shape of '", name, "' is too large"));
    }
    entry.shape.push_back(static_cast<std::int64_t>(n));
  }
  entry.begin = natural(json["data_offsets"][0], name, "data_offsets");
  entry.end = natural(json["data_offsets"][1], name, "data_offsets");
  const std::uint64_t bytes = bytes_of(entry);
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    refuse(concat("'", name, "' is said to lie at bytes ", entry.begin, " to ", entry.end,
                  ", but its shape needs ", bytes, " bytes"));
  }
  return entry;
}

// Reads or writes all bytes, whatever the system does at once.
void read_all(
    const Fd& file, const std::string& path, void* to, std::uint64_t bytes, std::uint64_t offset) {
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::pread(file.get(), out, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "read");
    if (n == 0) throw Error(ErrorCode::io, concat(path, " became shorter while it was read"));
    out += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
}

void write_all(const Fd& file, const std::string& path, const void* from, std::uint64_t bytes) {
  const auto* in = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t n = ::write(file.get(), in, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "write");
    in += n;
    bytes -= static_cast<std::uint64_t>(n);
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& text, std::uint64_t data_bytes) {
  if (text.empty() || text.front() != '{') refuse("the header does not begin with '{'");
  const Json json = parse_strictly(text);
  SafetensorsHeader header;
  for (const auto& [name, value] : json.items()) {
    if (name != "__metadata__") {
      header.entries.push_back(parse_entry(name, value));
      continue;
    }
    if (!value.is_object()) refuse("__metadata__ is no object");
    for (const auto& [key, word] : value.items()) {
      if (!word.is_string()) refuse(concat("__metadata__ '", key, "' is no string"));
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
      refuse(concat("'", entry.name, "' begins at byte ", entry.begin,
                    ", but what is before it ends at ", expected));
    }
    expected = entry.end;
  }
  if (expected != data_bytes) {
    refuse(concat("the header describes ", expected, " bytes, but ", data_bytes, " are there"));
  }
  return header;
}

class SafetensorsReader::Impl {
 public:
  explicit Impl(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!file_) fail(path, "open");
    struct stat info {};
    if (::fstat(file_.get(), &info) != 0) fail(path, "look at");
    const auto size = static_cast<std::uint64_t>(info.st_size);
    try {
      if (size < kLengthBytes) refuse(concat("it has only ", size, " bytes"));
      unsigned char length_bytes[kLengthBytes];
      read_all(file_, path, length_bytes, kLengthBytes, 0);
      std::uint64_t length = 0;
      for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | length_bytes[i];
      if (length > kMaxHeader || length > size - kLengthBytes) {
        refuse(concat("its header is said to have ", length, " bytes; the file has ", size));
      }
      std::string text(length, '\0');
      read_all(file_, path, text.data(), length, kLengthBytes);
      data_begin_ = kLengthBytes + length;
      header_ = parse_safetensors_header(text, size - data_begin_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      refuse(concat(path, " is no valid safetensors file: ", error.what()));
    }
  }

  std::string path_;
  Fd file_;
  std::uint64_t data_begin_ = 0;
  SafetensorsHeader header_;
};

SafetensorsReader::SafetensorsReader(const std::string& path)
    : impl_(std::make_unique<Impl>(path)) {}
SafetensorsReader::~SafetensorsReader() = default;

const SafetensorsHeader& SafetensorsReader::header() const { return impl_->header_; }

void SafetensorsReader::read(const SafetensorsEntry& entry, void* to) {
  read_all(impl_->file_, impl_->path_, to, entry.end - entry.begin,
           impl_->data_begin_ + entry.begin);
}

void write_safetensors(const std::string& path, std::vector<SafetensorsItem> items) {
  std::sort(items.begin(), items.end(),
            [](const SafetensorsItem& a, const SafetensorsItem& b) { return a.name < b.name; });
  nlohmann::ordered_json json;
  json["__metadata__"] = {{"format", "pt"}};
  std::uint64_t offset = 0;
  for (const SafetensorsItem& item : items) {
    const std::uint64_t end = offset + bytes_of({item.name, item.type, item.shape, 0, 0});
    json[item.name] = {
        {"dtype", item.type}, {"shape", item.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data is aligned

  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) fail(path, "create");
  unsigned char length_bytes[kLengthBytes];
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length_bytes[i] = static_cast<unsigned char>(text.size() >> (8 * i));
  }
  write_all(file, path, length_bytes, kLengthBytes);
  write_all(file, path, text.data(), text.size());
  for (const SafetensorsItem& item : items) {
    write_all(file, path, item.data, bytes_of({item.name, item.type, item.shape, 0, 0}));
  }
  if (::fsync(file.get()) != 0) fail(path, "write");
}

}  // namespace bp::trainer
