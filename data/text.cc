#include "data/text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/line_reader.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr size_t kTextBlockBytes = 1 << 20;
// A character is found by passing over fewer than these.
constexpr int64_t kMarkPeriod = 512;
// A character has at most so many bytes.
constexpr size_t kMostBytes = 4;

constexpr char kRemedy[] = "give fewer or smaller files";

}  // namespace

// ------------------------------------------------------------------------------------- the text

absl::Status Text::Append(ByteSource& source, const std::string& name) {
  const std::string what = absl::StrCat("the text of ", name);
  const MemoryUse use(what, kRemedy);
  files_.push_back({name, std::ssize(bytes_)});
  // Room for what else a run needs.
  const size_t most = static_cast<size_t>(MemoryBytes()) / 2;
  const uint64_t left = source.remaining().value_or(0);
  bool at_end = false;
  while (!at_end) {
    const size_t end = bytes_.size();
    if (std::max<uint64_t>(files_.back().begin + left, end) > most) {
      return absl::ResourceExhaustedError(
          absl::StrCat(what, " does not fit in memory: there is room for ", BytesText(most),
                       " of text; ", kRemedy));
    }
    if (end == static_cast<size_t>(files_.back().begin))
      bytes_.reserve(end + left + kTextBlockBytes);
    bytes_.resize(end + kTextBlockBytes);
    ASSIGN_OR_RETURN(const size_t got, source.Read(bytes_.data() + end, kTextBlockBytes));
    bytes_.resize(end + got);
    at_end = got == 0;
    RETURN_IF_ERROR(Count(at_end));
  }
  return absl::OkStatus();
}

absl::Status Text::Count(bool at_end) {
  while (counted_ < std::ssize(bytes_)) {
    const std::string_view rest = std::string_view(bytes_).substr(counted_);
    if (rest.size() < kMostBytes && !at_end) break;  // it may go on
    const Character character = FirstCharacter(rest);
    if (!character.code.has_value()) {
      const int64_t offset = counted_ - files_.back().begin;
      if (offset == 0) RETURN_IF_ERROR(Annotate(CheckEncoding(rest), files_.back().name));
      const bool is_gzip = offset == 1 && bytes_.compare(counted_ - 1, 2, "\x1f\x8b") == 0;
      return absl::DataLossError(
          absl::StrCat(files_.back().name, ": want UTF-8, got the byte ", Quote(character.bytes),
                       " at offset ", offset,
                       is_gzip ? ": it is compressed, gunzip it first"
                               : ": iconv -t UTF-8 makes it of other encodings"));
    }
    if (*character.code >= seen_.size()) seen_.resize(*character.code + 1);
    if (!seen_[*character.code]) {
      seen_[*character.code] = true;
      characters_.emplace_back(character.bytes);
    }
    if (size_ % kMarkPeriod == 0) marks_.push_back(counted_);
    ++size_;
    counted_ += std::ssize(character.bytes);
  }
  return absl::OkStatus();
}

std::string_view Text::From(int64_t character) const {
  if (character == size_) return {};
  int64_t at = marks_[character / kMarkPeriod];
  for (int64_t left = character % kMarkPeriod; left > 0; --left) {
    // Every byte but those that continue a character begins one.
    do ++at;
    while ((bytes_[at] & 0xC0) == 0x80);
  }
  return std::string_view(bytes_).substr(at);
}

Text::Place Text::PlaceOf(int64_t character) const {
  const int64_t at = std::ssize(bytes_) - std::ssize(From(character));
  const auto behind =
      std::upper_bound(files_.begin(), files_.end(), at,
                       [](int64_t at, const File& file) { return at < file.begin; });
  return {static_cast<int>(behind - files_.begin() - 1), at - (behind - 1)->begin};
}

std::string Text::Where(const Place& place) const {
  return absl::StrCat("offset ", place.offset, " of ", files_[place.file].name);
}

// ---------------------------------------------------------------------------------- its windows

TextWindows::TextWindows(Text text, CharacterVocabulary vocabulary, const WindowsSpec& spec)
    : text_(std::move(text)), vocabulary_(std::move(vocabulary)), spec_(spec) {
  const auto size = static_cast<double>(text_.size());
  begin_ = static_cast<int64_t>(std::floor(spec_.begin * size));
  end_ = static_cast<int64_t>(std::floor(spec_.end * size));
  of_stream_ = (end_ - begin_) / spec_.streams;
  if (of_stream_ >= reach()) per_stream_ = (of_stream_ - reach()) / spec_.shift + 1;
}

absl::StatusOr<TextWindows> TextWindows::Create(Text text, CharacterVocabulary vocabulary,
                                                const WindowsSpec& spec) {
  TextWindows windows(std::move(text), std::move(vocabulary), spec);
  if (spec.unknown_id < 0) RETURN_IF_ERROR(windows.CheckKnown());
  return windows;
}

absl::Status TextWindows::CheckKnown() const {
  const auto is_known = [this](const std::string& character) {
    return vocabulary_.Find(*FirstCharacter(character).code) >= 0;
  };
  const std::vector<std::string>& characters = text_.characters();
  if (std::all_of(characters.begin(), characters.end(), is_known)) return absl::OkStatus();
  std::string_view rest = text_.From(begin_);
  for (int64_t i = begin_; i < end_; ++i) {
    const Character character = FirstCharacter(rest);
    if (vocabulary_.Find(*character.code) < 0) {
      return absl::DataLossError(absl::StrCat(text_.Where(text_.PlaceOf(i)), ": the character ",
                                              NameOf(character), " is not in the vocabulary"));
    }
    rest.remove_prefix(character.bytes.size());
  }
  return absl::OkStatus();
}

absl::Status TextWindows::CheckNotEmpty() const {
  if (size() > 0) return absl::OkStatus();
  const bool whole = spec_.begin == 0 && spec_.end == 1;
  return absl::DataLossError(absl::StrCat(
      whole ? "the text" : "the part of the text", " has ", end_ - begin_, " characters, want ",
      reach(), spec_.with_next ? " (sequence_length, and one that is next)" : " (sequence_length)",
      spec_.streams == 1 ? "" : absl::StrCat(" or more for each of ", spec_.streams, " streams"),
      " at least"));
}

int64_t TextWindows::FirstOf(int64_t window) const {
  const int64_t stream = window % spec_.streams;
  return begin_ + stream * of_stream_ + window / spec_.streams * spec_.shift;
}

void TextWindows::Get(int64_t window, int32_t* ids, int32_t* next) const {
  std::string_view rest = text_.From(FirstOf(window));
  for (int64_t i = 0; i < reach(); ++i) {
    const Character character = FirstCharacter(rest);
    int32_t id = vocabulary_.Find(*character.code);
    if (id < 0) id = static_cast<int32_t>(spec_.unknown_id);
    if (i < spec_.length) ids[i] = id;
    if (i > 0 && spec_.with_next) next[i - 1] = id;
    rest.remove_prefix(character.bytes.size());
  }
}

}  // namespace tpurun
