#include "runtime/io/zlib_stream.h"

#include <zlib.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr size_t kDeflateBufferBytes = 256 << 10;

// Two bits make 258 bytes at the most, the longest match; inflate itself may hold a few bytes.
constexpr uint64_t kMostFromByte = 4 * 258;
constexpr uint64_t kBytesWithin = 8;

// zlib's largest window; 16 more means the gzip wrapper.
int WindowBits(Compression compression) {
  return compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
}

const char* FormatName(Compression compression) {
  return compression == Compression::kGzip ? "GZIP" : "ZLIB";
}

Bytef* AsBytef(const char* bytes) { return reinterpret_cast<Bytef*>(const_cast<char*>(bytes)); }

}  // namespace

ZlibSource::ZlibSource(std::unique_ptr<ByteSource> source, Compression compression,
                       std::string name)
    : source_(std::move(source)),
      compression_(compression),
      name_(std::move(name)),
      stream_(std::make_unique<z_stream>()) {
  inflateInit2(stream_.get(), WindowBits(compression));
}

ZlibSource::~ZlibSource() { inflateEnd(stream_.get()); }

absl::Status ZlibSource::Damaged(const std::string& what) const {
  return absl::DataLossError(absl::StrFormat("%s: %s data: %s (compressed offset %d)", name_,
                                             FormatName(compression_), what,
                                             input_offset_ - stream_->avail_in));
}

absl::Status ZlibSource::Refill() {
  if (stream_->avail_in > 0 || source_ended_) return absl::OkStatus();
  input_.resize(kDeflateBufferBytes);
  ASSIGN_OR_RETURN(const size_t got, source_->Read(input_.data(), input_.size()));
  source_ended_ = got == 0;  // a read error comes with the read after the last bytes
  input_offset_ += got;
  stream_->next_in = AsBytef(input_.data());
  stream_->avail_in = got;
  return absl::OkStatus();
}

absl::StatusOr<size_t> ZlibSource::Read(char* out, size_t size) {
  RETURN_IF_ERROR(error_);
  size_t done = 0;
  error_ = Inflate(out, size, &done);
  if (done == 0) RETURN_IF_ERROR(error_);
  return done;
}

std::optional<uint64_t> ZlibSource::remaining_at_most() const {
  const std::optional<uint64_t> unread = source_->remaining_at_most();
  if (!unread.has_value()) return std::nullopt;
  return (*unread + stream_->avail_in + kBytesWithin) * kMostFromByte;
}

absl::Status ZlibSource::Inflate(char* out, size_t size, size_t* done) {
  while (*done < size) {
    RETURN_IF_ERROR(Refill());
    if (!in_member_) {
      if (stream_->avail_in == 0) break;
      if (any_member_ && compression_ == Compression::kZlib) {
        return Damaged("bytes after the end of the stream");
      }
      if (any_member_) inflateReset(stream_.get());
      in_member_ = any_member_ = true;
    }
    if (stream_->avail_in == 0) return Damaged("truncated");
    const size_t want = std::min<size_t>(size - *done, UINT_MAX);
    stream_->next_out = AsBytef(out + *done);
    stream_->avail_out = want;
    const int rc = inflate(stream_.get(), Z_NO_FLUSH);
    *done += want - stream_->avail_out;
    if (rc == Z_STREAM_END) {
      in_member_ = false;
    } else if (rc == Z_MEM_ERROR) {
      return absl::ResourceExhaustedError(absl::StrFormat("%s: no memory to decompress", name_));
    } else if (rc == Z_NEED_DICT) {
      return Damaged("needs a preset dictionary");
    } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
      return Damaged(stream_->msg != nullptr ? stream_->msg : "damaged");
    }
  }
  return absl::OkStatus();
}

ZlibSink::ZlibSink(std::unique_ptr<ByteSink> sink, Compression compression, std::string name)
    : sink_(std::move(sink)),
      name_(std::move(name)),
      stream_(std::make_unique<z_stream>()),
      output_(kDeflateBufferBytes, '\0') {
  // 8 is zlib's default for the memory of its hash tables.
  deflateInit2(stream_.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, WindowBits(compression), 8,
               Z_DEFAULT_STRATEGY);
}

ZlibSink::~ZlibSink() { deflateEnd(stream_.get()); }

absl::Status ZlibSink::Deflate(std::string_view bytes, int flush) {
  if (closed_) return absl::InternalError(absl::StrFormat("append to closed file %s", name_));
  do {
    const size_t take = std::min<size_t>(bytes.size(), UINT_MAX);
    stream_->next_in = AsBytef(bytes.data());
    stream_->avail_in = take;
    bytes.remove_prefix(take);
    int rc;
    do {
      stream_->next_out = AsBytef(output_.data());
      stream_->avail_out = output_.size();
      rc = deflate(stream_.get(), bytes.empty() ? flush : Z_NO_FLUSH);
      if (rc == Z_STREAM_ERROR) {
        return absl::InternalError(absl::StrFormat("%s: compressor in a bad state", name_));
      }
      RETURN_IF_ERROR(sink_->Append({output_.data(), output_.size() - stream_->avail_out}));
    } while (stream_->avail_out == 0);
  } while (!bytes.empty());
  return absl::OkStatus();
}

absl::Status ZlibSink::Append(std::string_view bytes) { return Deflate(bytes, Z_NO_FLUSH); }

absl::Status ZlibSink::Flush() {
  RETURN_IF_ERROR(Deflate({}, Z_SYNC_FLUSH));
  return sink_->Flush();
}

absl::Status ZlibSink::Sync() {
  RETURN_IF_ERROR(Deflate({}, Z_SYNC_FLUSH));
  return sink_->Sync();
}

absl::Status ZlibSink::Close() {
  if (closed_) return absl::OkStatus();
  RETURN_IF_ERROR(Deflate({}, Z_FINISH));
  closed_ = true;
  return sink_->Close();
}

}  // namespace tpurun
