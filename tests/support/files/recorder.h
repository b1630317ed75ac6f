// Records what this process does to the files of one folder. recorder.cc defines the functions of
// the C library that change or sync files. They replace the C library's own in a program that links
// recorder.cc, or that runs with LD_PRELOAD=libbp_file_recorder.so and the environment variables
// BP_RECORDED_FOLDER and BP_FILE_RECORD.
//
// The recorder does not see stdio, mmap and sendfile. file_record.h therefore compares the record
// with the content of the folder at the end.
#pragma once

#include <cstdint>

namespace bp::test {

enum class FileOperationKind : std::uint32_t {
  open,      // path; `offset` holds the flags
  close,     // fd
  write,     // fd, offset, data
  truncate,  // fd; `offset` is the new size
  sync,      // fd: fsync or fdatasync
  rename,    // path, other
  exchange,  // path, other
  link,      // path, other: the new name
  symlink,   // path; `other` is the target
  unlink,    // path
  rmdir,     // path
  mkdir,     // path
  mark,      // other: the text of the mark
};

// The header of each operation in the record. `path`, `other` and the data follow it.
struct FileOperationHeader {
  FileOperationKind kind = FileOperationKind::mark;
  std::int32_t fd = -1;
  std::uint64_t offset = 0;
  std::uint64_t path_bytes = 0;
  std::uint64_t other_bytes = 0;
  std::uint64_t data_bytes = 0;
};

}  // namespace bp::test

extern "C" {
// Starts a record of `folder` in the file `record`, which must lie outside `folder`. Both must
// exist; returns false if one does not. Only one record can be made at a time.
bool bp_record_files(const char* folder, const char* record);
void bp_record_mark(const char* text);
void bp_record_stop();
// Sets whether renameat2() refuses to exchange two names, as on NFS. Works without a record too.
void bp_refuse_exchanges(bool refuse);
}
