// Collectors of what protobuf's tokenizer and its parser of the text format find wrong.
#ifndef TPURUN_PROTO_TEXT_ERRORS_H_
#define TPURUN_PROTO_TEXT_ERRORS_H_

#include <optional>
#include <string>

#include "google/protobuf/io/tokenizer.h"

namespace tpurun {

// For a text of which nobody is told what is wrong. (Without a collector protobuf writes to the
// log.)
class IgnoredTextErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

class FirstTextError : public google::protobuf::io::ErrorCollector {
 public:
  struct Error {
    int line = 0, column = 0;  // from 1
    std::string message;
  };

  void AddError(int line, int column, const std::string& message) override {
    if (!error_.has_value()) error_ = {line + 1, column + 1, message};
  }

  // Nothing when the parser failed without a word.
  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace tpurun

#endif  // TPURUN_PROTO_TEXT_ERRORS_H_
