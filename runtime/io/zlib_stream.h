// GZIP (RFC 1952) and ZLIB (RFC 1950) streams on top of any source or sink, with zlib. Memory is
// bounded by zlib's window and one buffer, whatever the file contains.
#ifndef TPURUN_RUNTIME_IO_ZLIB_STREAM_H_
#define TPURUN_RUNTIME_IO_ZLIB_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/file.h"
#include "runtime/io/record_format.h"

typedef struct z_stream_s z_stream;

namespace tpurun {

// The uncompressed bytes of `source`. A GZIP file may have several members (as `cat a.gz b.gz`
// makes). A file of 0 bytes is empty. Bytes that are not of the format, also wrong checksums, are
// DataLoss with `name` and the byte offset in the compressed file.
class ZlibSource : public ByteSource {
 public:
  ZlibSource(std::unique_ptr<ByteSource> source, Compression compression, std::string name);
  ~ZlibSource() override;

  absl::StatusOr<size_t> Read(char* out, size_t size) override;
  std::optional<uint64_t> remaining_at_most() const override;

 private:
  // Read that counts in *done the bytes decompressed before an error.
  absl::Status Inflate(char* out, size_t size, size_t* done);
  absl::Status Refill();
  absl::Status Damaged(const std::string& what) const;

  const std::unique_ptr<ByteSource> source_;
  const Compression compression_;
  const std::string name_;
  const std::unique_ptr<z_stream> stream_;
  std::string input_;
  // Byte offset of the end of input_ in the compressed file.
  uint64_t input_offset_ = 0;
  bool source_ended_ = false;
  bool in_member_ = false;  // between the first byte of a member and its end
  bool any_member_ = false;
  absl::Status error_;
};

// Compresses into `sink`. Flush ends a deflate block, so that the appended bytes can be read. Close
// ends the stream: without Close the file is truncated.
class ZlibSink : public ByteSink {
 public:
  ZlibSink(std::unique_ptr<ByteSink> sink, Compression compression, std::string name);
  ~ZlibSink() override;

  absl::Status Append(std::string_view bytes) override;
  absl::Status Flush() override;
  absl::Status Sync() override;
  absl::Status Close() override;

 private:
  absl::Status Deflate(std::string_view bytes, int flush);

  const std::unique_ptr<ByteSink> sink_;
  const std::string name_;
  const std::unique_ptr<z_stream> stream_;
  std::string output_;
  bool closed_ = false;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_ZLIB_STREAM_H_
