// A tar archive. Input: a byte, bit 0: the sums of all blocks but zeros are made right first; then
// the archive.
#include "data/convert/tar.h"

#include <memory>

#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

constexpr size_t kTarBlockBytes = 512, kTarSumAt = 148, kTarSumBytes = 8;

// A fuzzer does not find sums by itself.
void RepairTarSums(std::string* archive) {
  for (size_t at = 0; at + kTarBlockBytes <= archive->size(); at += kTarBlockBytes) {
    if (archive->find_first_not_of('\0', at) >= at + kTarBlockBytes) continue;
    archive->replace(at + kTarSumAt, kTarSumBytes, kTarSumBytes, ' ');
    int sum = 0;
    for (size_t i = 0; i < kTarBlockBytes; ++i) sum += static_cast<uint8_t>((*archive)[at + i]);
    archive->replace(at + kTarSumAt, 6, absl::StrFormat("%06o", sum));
  }
}

}  // namespace

absl::Status FuzzTar(std::string_view bytes) {
  const uint8_t variant = TakeByte(&bytes);
  std::string archive(bytes);
  if (variant & 1) RepairTarSums(&archive);
  WriteScratch("f.tar", archive);
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file,
                   RandomAccessFile::Open(ScratchPath("f.tar")));
  ASSIGN_OR_RETURN(const std::vector<TarMember> members, ListTar(*file, {0, file->size()}));
  uint64_t end = 0;
  for (const TarMember& member : members) {
    CHECK_GE(member.range.offset, end + kTarBlockBytes);
    CHECK_LE(member.range.offset, file->size());
    CHECK_LE(member.range.size, file->size() - member.range.offset);
    end = member.range.offset + member.range.size;
  }
  return absl::OkStatus();
}

}  // namespace tpurun
