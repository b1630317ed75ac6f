#include "trainer/data/file_kind.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/text/utf8.h"

namespace bp::trainer {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes;
  std::string_view name;
  std::string_view hint;
};

constexpr std::string_view kExport = "export its texts and labels as a CSV file in UTF-8";
constexpr std::string_view kSpreadsheet =
    "open it in a spreadsheet program and save it as \"CSV UTF-8\"";
constexpr std::string_view kPandas =
    "with Python and pandas: pandas.read_parquet(OLD).to_csv(NEW, index=False)";

// Formats that a user may mistake for a table, or name by accident.
constexpr std::array kSignatures{
    Signature{"\x1F\x8B"sv, "compressed by gzip", "unpack it: gunzip -c OLD > NEW"},
    Signature{"BZh91AY&SY"sv, "compressed by bzip2", "unpack it: bunzip2 -c OLD > NEW"},
    Signature{"\xFD"
              "7zXZ\0"sv,
              "compressed by xz", "unpack it: xz -dc OLD > NEW"},
    Signature{"\x28\xB5\x2F\xFD"sv, "compressed by zstd", "unpack it: zstd -dc OLD > NEW"},
    Signature{"7z\xBC\xAF\x27\x1C"sv, "a 7z archive", "unpack it: 7z x OLD"},
    Signature{"\x89HDF\r\n\x1A\n"sv, "an HDF5 file", kExport},
    Signature{"PAR1\x15"sv, "a Parquet file", kPandas},
    Signature{"ARROW1\0\0"sv, "an Arrow file", kExport},
    Signature{"Obj\x01"sv, "an Avro file", kExport},
    Signature{"SQLite format 3\0"sv, "an SQLite file",
              "a store of bert_train is taken when its name ends in .sqlite; of another database "
              "export the table as CSV: sqlite3 -csv -header OLD 'SELECT ...' > NEW"},
    Signature{"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "an old Excel or Word file", kSpreadsheet},
    Signature{"\x93NUMPY"sv, "a NumPy array", kExport},
    Signature{"%PDF-"sv, "a PDF", kExport},
};

// The files of Excel and LibreOffice are zip archives with these names near the start.
std::string_view kind_of_zip(std::string_view start, std::string_view& hint) {
  const auto holds = [&](std::string_view name) {
    return start.find(name) != std::string_view::npos;
  };
  hint = kSpreadsheet;
  if (holds("xl/")) return "an Excel file (.xlsx)";
  if (holds("opendocument.spreadsheet")) return "an OpenDocument spreadsheet (.ods)";
  if (holds("word/")) return "a Word file (.docx)";
  // xlsx writers put this name first, and the names with xl/ after its compressed content.
  if (holds("[Content_Types].xml") || holds("docProps/")) return "an Office file (.xlsx)";
  hint = "unpack it: unzip OLD";
  return "a zip archive";
}

[[noreturn]] void refuse_kind(const std::string& path,
                              std::string_view name,
                              std::string_view hint) {
  throw InputError(65, concat(path, " is ", name, ", not a text file with a table"),
                   std::string(hint));
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

}  // namespace

void refuse_binary_kinds(const std::string& path, std::string_view start) {
  if (start.starts_with("PK\3\4"sv) || start.starts_with("PK\5\6"sv)) {
    std::string_view hint;
    const std::string_view name = kind_of_zip(start, hint);
    refuse_kind(path, name, hint);
  }
  for (const Signature& signature : kSignatures) {
    if (start.starts_with(signature.bytes)) refuse_kind(path, signature.name, signature.hint);
  }
}

bool has_utf16_mark(std::string_view start) {
  return (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) && !has_utf32_mark(start);
}

void refuse_wide_text(const std::string& path, std::string_view start) {
  const auto refuse = [&](const char* name, const char* encoding) {
    throw InputError(65, concat(path, " is ", name, ", not UTF-8"),
                     concat("name the encoding: --encoding ", encoding));
  };
  if (has_utf32_mark(start)) refuse("UTF-32", "utf-32");
  if (has_utf16_mark(start)) refuse("UTF-16", "utf-16");
  if (looks_like_utf16(start)) {
    refuse("UTF-16 without a byte order mark", start[0] != '\0' ? "utf-16le" : "utf-16be");
  }
}

void refuse_json_array(const std::string& path, std::string_view start) {
  constexpr std::string_view kBlanks = " \t\r\n";
  if (start.starts_with(kByteOrderMark)) start.remove_prefix(kByteOrderMark.size());
  start.remove_prefix(std::min(start.find_first_not_of(kBlanks), start.size()));
  if (!start.starts_with('[') || !begins_with_object(start.substr(1))) return;
  throw InputError(65, concat(path, " is a JSON array, not JSON lines"),
                   "make one line of each element with jq: jq -c '.[]' OLD > NEW");
}

bool begins_with_object(std::string_view start) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto skip_blanks = [&] {
    start.remove_prefix(std::min(start.find_first_not_of(kBlanks), start.size()));
  };
  if (start.starts_with(kByteOrderMark)) start.remove_prefix(kByteOrderMark.size());
  skip_blanks();
  if (!start.starts_with('{')) return false;
  start.remove_prefix(1);
  skip_blanks();
  return start.starts_with('"') || start.starts_with('}');
}

}  // namespace bp::trainer
