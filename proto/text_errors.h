// Error collectors for protobuf's tokenizer and its text format parser.
#ifndef TPURUN_PROTO_TEXT_ERRORS_H_
#define TPURUN_PROTO_TEXT_ERRORS_H_

#include <optional>
#include <string>

#include "google/protobuf/io/tokenizer.h"

namespace tpurun {

// Ignores all errors. Without a collector protobuf would write them to the log.
class IgnoredTextErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

class FirstTextError : public google::protobuf::io::ErrorCollector {
 public:
  struct Error {
    int line = 0, column = 0;  // both from 1
    std::string message;
  };

  void AddError(int line, int column, const std::string& message) override {
    if (!error_.has_value()) error_ = {line + 1, column + 1, message};
  }

  // nullopt if there was no error message. A parser can fail without one.
  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace tpurun

#endif  // TPURUN_PROTO_TEXT_ERRORS_H_
