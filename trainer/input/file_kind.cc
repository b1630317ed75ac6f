#include "trainer/input/file_kind.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/input_error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace bp::trainer {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes;
  std::string_view name;
  std::string_view hint;
  std::size_t offset = 0;
};

constexpr std::string_view kExport = "export its texts and labels as a CSV file in UTF-8";
constexpr std::string_view kHdf5 =
    "export its texts and labels as CSV with Python and h5py, or if pandas wrote it: "
    "pandas.read_hdf(OLD).to_csv(NEW, index=False)";
constexpr std::string_view kSpreadsheet =
    "open it in a spreadsheet program and save it as \"CSV UTF-8\"";
constexpr std::string_view kParquet =
    "with Python and pandas: pandas.read_parquet(OLD).to_csv(NEW, index=False)";
constexpr std::string_view kFeather =
    "with Python and pandas: pandas.read_feather(OLD).to_csv(NEW, index=False)";
constexpr std::string_view kPickle =
    "with Python and pandas, if you trust who made it: pandas.read_pickle(OLD).to_csv(NEW, "
    "index=False)";
constexpr std::string_view kWeights =
    "it has the weights of a model: name the model's folder with --model";
constexpr std::string_view kNumpy =
    "with Python and numpy, write its texts and labels as a CSV file";
constexpr std::string_view kLink = "download the file itself, not the page about it";

// Formats that a user may mistake for a data file, or name by accident.
constexpr std::array kSignatures{
    Signature{"\x1F\x8B"sv, "compressed by gzip", "unpack it: gunzip -c OLD > NEW"},
    Signature{"BZh91AY&SY"sv, "compressed by bzip2",
              "unpack it, or recompress it: bunzip2 -c OLD | gzip > NEW"},
    Signature{"\xFD"
              "7zXZ\0"sv,
              "compressed by xz", "unpack it, or recompress it: xz -dc OLD | gzip > NEW"},
    Signature{"\x28\xB5\x2F\xFD"sv, "compressed by zstd", "unpack it: zstd -dc OLD > NEW"},
    Signature{"\x04\x22\x4D\x18"sv, "compressed by lz4",
              "unpack it, or recompress it: lz4 -dc OLD | gzip > NEW"},
    Signature{"7z\xBC\xAF\x27\x1C"sv, "a 7z archive", "unpack it: 7z x OLD"},
    Signature{"Rar!\x1A\x07"sv, "a RAR archive", "unpack it: unrar x OLD"},
    Signature{"ustar"sv, "a tar archive", "unpack it: tar -xf OLD", 257},
    Signature{"\x89HDF\r\n\x1A\n"sv, "an HDF5 file", kHdf5},
    Signature{"\x89HDF\r\n\x1A\n"sv, "an HDF5 file", kHdf5, 512},
    Signature{"PAR1\x15"sv, "a Parquet file", kParquet},
    Signature{"ARROW1\0\0"sv, "an Arrow or Feather file", kFeather},
    Signature{"FEA1"sv, "a Feather file", kFeather},
    Signature{"\xFF\xFF\xFF\xFF"sv, "an Arrow stream",
              "with Python and datasets: Dataset.from_file(OLD).to_json(NEW)"},
    Signature{"ORC"
              "\x08"sv,
              "an ORC file",
              "with Python and pandas: pandas.read_orc(OLD).to_csv(NEW, index=False)"},
    Signature{"Obj\x01"sv, "an Avro file", kExport},
    Signature{"SQLite format 3\0"sv, "an SQLite file",
              "a store of bert_train is taken when its name ends in .sqlite; of another database "
              "export the table as CSV: sqlite3 -csv -header OLD 'SELECT ...' > NEW"},
    Signature{"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "an old Excel or Word file", kSpreadsheet},
    Signature{"\x93NUMPY"sv, "a NumPy array (.npy)", kNumpy},
    Signature{"\x80\x02"sv, "a Python pickle", kPickle},
    Signature{"\x80\x03"sv, "a Python pickle", kPickle},
    Signature{"\x80\x04\x95"sv, "a Python pickle", kPickle},
    Signature{"\x80\x05\x95"sv, "a Python pickle", kPickle},
    Signature{"%PDF-"sv, "a PDF", kExport},
    Signature{"\x7F"
              "ELF"sv,
              "a program", "name a data file"},
    Signature{"<!DOCTYPE html"sv, "a web page", kLink},
    Signature{"<!doctype html"sv, "a web page", kLink},
    Signature{"<html"sv, "a web page", kLink},
    Signature{"version https://git-lfs.github.com/spec/"sv, "a pointer of Git LFS",
              "fetch the file itself in its repository: git lfs pull"},
};

struct Kind {
  std::string_view name;  // empty: not known
  std::string_view hint;
};

// Many formats are zip archives with certain names near the start.
Kind kind_of_zip(std::string_view start) {
  const auto holds = [&](std::string_view name) {
    return start.find(name) != std::string_view::npos;
  };
  if (holds("xl/")) return {"an Excel file (.xlsx)", kSpreadsheet};
  if (holds("opendocument.spreadsheet")) {
    return {"an OpenDocument spreadsheet (.ods)", kSpreadsheet};
  }
  if (holds("word/")) return {"a Word file (.docx)", kSpreadsheet};
  // xlsx writers put this name first, and the names with xl/ after its compressed content.
  if (holds("[Content_Types].xml") || holds("docProps/")) {
    return {"an Office file (.xlsx)", kSpreadsheet};
  }
  if (holds(".npy")) return {"a file of NumPy arrays (.npz)", kNumpy};
  if (holds("data.pkl")) return {"a PyTorch file", kWeights};
  return {"a zip archive", "unpack it: unzip OLD"};
}

// A safetensors file begins with the length of a JSON object, as eight bytes.
bool is_safetensors(std::string_view start) {
  return start.size() > 9 && start.substr(4, 4) == "\0\0\0\0"sv && start.substr(8, 2) == "{\""sv;
}

Kind kind_of(std::string_view start) {
  if (start.starts_with("PK\3\4"sv) || start.starts_with("PK\5\6"sv)) return kind_of_zip(start);
  if (is_safetensors(start)) return {"a safetensors file", kWeights};
  const auto found = std::find_if(kSignatures.begin(), kSignatures.end(), [&](const Signature& s) {
    return start.size() > s.offset && start.substr(s.offset).starts_with(s.bytes);
  });
  return found == kSignatures.end() ? Kind{} : Kind{found->name, found->hint};
}

// ASCII text in UTF-16 has a zero in every other byte. It may lack a byte order mark.
bool looks_like_utf16(std::string_view start) {
  constexpr std::size_t kLooked = 256;
  const std::string_view looked = start.substr(0, std::min(kLooked, start.size() & ~1UL));
  std::array<std::size_t, 2> zeros{};  // at even and at odd offsets
  for (std::size_t i = 0; i < looked.size(); ++i) {
    zeros[i % 2] += looked[i] == '\0' ? 1 : 0;
  }
  const std::size_t units = looked.size() / 2;
  return units >= 4 && std::min(zeros[0], zeros[1]) == 0 &&
         2 * std::max(zeros[0], zeros[1]) > units;
}

bool has_utf32_mark(std::string_view start) {
  return start.starts_with("\xFF\xFE\0\0"sv) || start.starts_with("\0\0\xFE\xFF"sv);
}

// Returns what follows a byte order mark and blanks.
std::string_view behind_blanks(std::string_view start) {
  if (start.starts_with(kByteOrderMark)) start.remove_prefix(kByteOrderMark.size());
  start.remove_prefix(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
  return start;
}

}  // namespace

void refuse_binary_kinds(const std::string& path, std::string_view start) {
  const Kind kind = kind_of(start);
  if (kind.name.empty()) return;
  throw InputError(65, concat(path, " is ", kind.name, ", not a text file with a table"),
                   std::string(kind.hint));
}

bool has_utf16_mark(std::string_view start) {
  return (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) && !has_utf32_mark(start);
}

void refuse_other_encodings(const std::string& path, std::string_view start) {
  const auto refuse = [&](const char* name, const char* encoding) {
    throw InputError(65, concat(path, " is ", name, ", not UTF-8"),
                     concat("name the encoding: --encoding ", encoding));
  };
  if (has_utf32_mark(start)) refuse("UTF-32", "utf-32");
  if (has_utf16_mark(start)) refuse("UTF-16", "utf-16");
  if (looks_like_utf16(start)) {
    refuse("UTF-16 without a byte order mark", start[0] != '\0' ? "utf-16le" : "utf-16be");
  }
  const std::size_t bad = find_invalid_utf8(start);
  // A character may be cut at the end of `start`.
  const bool invalid = bad != std::string_view::npos && bad + 4 <= start.size();
  if (!invalid || start.find('\0') == std::string_view::npos) return;
  throw InputError(65, concat(path, " is a binary file of an unknown kind, not a text file"),
                   "export its texts and labels as a CSV file in UTF-8");
}

void refuse_json_array(const std::string& path, std::string_view start) {
  start = behind_blanks(start);
  if (!start.starts_with('[') || !begins_with_object(start.substr(1))) return;
  throw InputError(65, concat(path, " is a JSON array, not JSON lines"),
                   "make one line of each element with jq: jq -c '.[]' OLD > NEW");
}

bool begins_with_object(std::string_view start) {
  start = behind_blanks(start);
  if (!start.starts_with('{')) return false;
  start = behind_blanks(start.substr(1));
  return start.starts_with('"') || start.starts_with('}');
}

}  // namespace bp::trainer
