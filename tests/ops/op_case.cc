#include "tests/ops/op_case.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/ir/line_tokenizer.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

[[noreturn]] void Malformed(const std::string& file, int line, const std::string& what) {
  std::cerr << file << ":" << line << ": " << what << "\n";
  std::abort();
}

Literal ParseLiteral(LineTokenizer& line, const std::string& file, int number) {
  const std::optional<Shape> shape = line.AShape();
  if (!shape) Malformed(file, number, "want a shape");
  Literal literal(*shape);
  const int64_t size = ByteSize(shape->dtype), count = shape->bytes() / size;  // padding too
  for (int64_t i = 0; i < count; ++i) {
    const std::string word = line.Word();
    const std::optional<double> value = ParseDouble(word);
    if (!value) Malformed(file, number, absl::StrCat("want ", count, " numbers"));
    const auto store = [to = literal.data() + i * size](auto element) {
      std::memcpy(to, &element, sizeof(element));
    };
    switch (shape->dtype) {
      case DType::kF32:
        store(*ParseFloat(word));
        break;
      case DType::kBF16:
        store(BFloat16Bits(*ParseFloat(word)));
        break;
      case DType::kS32:
        store(static_cast<int32_t>(*value));
        break;
      case DType::kS64:
        store(static_cast<int64_t>(*value));
        break;
      case DType::kU8:
      case DType::kPred:
        store(static_cast<uint8_t>(*value));
        break;
      default:
        Malformed(file, number, "no literals of this dtype");
    }
  }
  if (!line.AtEnd()) Malformed(file, number, "too many numbers");
  return literal;
}

void ParseFile(const std::string& path, std::vector<OpCase>* cases) {
  std::ifstream in(path);
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    LineTokenizer line(text);
    if (line.AtEnd() || text[0] == '#') continue;
    if (line.Eat("op ")) {
      OpCase op_case{.file = path, .line = number};
      op_case.op = FindOpByName(line.Word());
      const std::optional<Attrs> attrs = line.Attributes();
      if (op_case.op == nullptr || !attrs) Malformed(path, number, "want op NAME {attributes}");
      const auto typed = TypedAttrs(*op_case.op, *attrs);
      op_case.attrs = typed.ok() ? *typed : *attrs;  // else it is a case of an error
      cases->push_back(std::move(op_case));
      continue;
    }
    if (cases->empty() || cases->back().file != path) Malformed(path, number, "want op first");
    OpCase& op_case = cases->back();
    if (line.Eat("replicas ")) {
      op_case.replicas = static_cast<int>(line.Int().value_or(0));
      if (op_case.replicas < 1) Malformed(path, number, "want a number of replicas");
    } else if (line.Eat("operand ")) {
      op_case.operands.push_back(ParseLiteral(line, path, number));
    } else if (line.Eat("result ")) {
      op_case.results.push_back(ParseLiteral(line, path, number));
    } else if (line.Eat("tolerance ")) {
      op_case.tolerance = ParseDouble(line.Word()).value_or(0);
    } else if (line.Eat("no_gradient ")) {
      op_case.check_gradient = false;
    } else if (line.Eat("constant_results ")) {
      op_case.constant_results = static_cast<int>(line.Int().value_or(0));
    } else if (line.Eat("error ")) {
      op_case.error = std::string(line.rest());
    } else {
      Malformed(path, number,
                "want replicas, operand, result, tolerance, no_gradient, "
                "constant_results or error");
    }
  }
}

}  // namespace

std::string OpCase::Place() const { return absl::StrCat(file, ":", line); }

OpCall OpCase::Call() const {
  OpCall call{.op = op, .attrs = attrs, .num_replicas = replicas};
  for (size_t i = 0; i < operands.size(); i += CopiesPerOperand(call))
    call.operands.push_back(operands[i].shape());
  for (const Literal& result : results) call.results.push_back(result.shape());
  call.needed.assign(results.size(), true);
  return call;
}

const std::vector<OpCase>& AllOpCases() {
  static const std::vector<OpCase>& all = *new std::vector<OpCase>([] {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator("testdata/ops")) {
      if (entry.path().extension() == ".txt") paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<OpCase> cases;
    for (const std::string& path : paths) ParseFile(path, &cases);
    return cases;
  }());
  return all;
}

std::vector<Literal> RunReference(const OpCall& call, const std::vector<Literal>& operands,
                                  const std::vector<std::pair<int64_t, int64_t>>& shares) {
  std::vector<Literal> results;
  for (const Shape& shape : call.results) results.emplace_back(shape);
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Literal& operand : operands) in.push_back(operand.data());
  for (Literal& result : results) {
    // What a kernel leaves unwritten must not look right by chance.
    std::memset(result.data(), 0xa5, result.shape().bytes());
    out.push_back(result.data());
  }
  const std::unique_ptr<Kernel> kernel = MakeReference(call);
  Literal scratch(Shape{DType::kU8, {ReferenceScratchBytes(call)}});
  for (const auto& [begin, end] : shares) {
    const absl::Status status = kernel->Run({.operands = in.data(),
                                             .results = out.data(),
                                             .scratch = scratch.data(),
                                             .begin = begin,
                                             .end = end});
    if (!status.ok()) std::abort();
  }
  return results;
}

Literal StoredIn(DType dtype, const Literal& literal) {
  Literal stored(Shape{dtype, literal.shape().dims});
  for (int64_t i = 0; i < literal.shape().num_elements(); ++i) {
    if (dtype == DType::kBF16) {
      stored.values<uint16_t>()[i] = BFloat16Bits(literal.values<float>()[i]);
    } else {
      stored.values<float>()[i] = FromBFloat16Bits(literal.values<uint16_t>()[i]);
    }
  }
  return stored;
}

}  // namespace tpurun
