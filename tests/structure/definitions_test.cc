// No two files of one program define different things under one name.
#include "tests/structure/definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/structure/source_tree.h"

namespace tpurun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Definition> AllDefinitions(const std::vector<std::string>& folders) {
  const auto root = CheckoutRoot();
  std::vector<Definition> all;
  for (const std::string& file : SourceFiles(root, folders, {".h", ".cc", ".inc"})) {
    for (Definition& definition : Definitions(file, ReadFile(root / file))) {
      all.push_back(std::move(definition));
    }
  }
  return all;
}

std::vector<std::string> Names(const std::string& text) {
  std::vector<std::string> names;
  for (const Definition& definition : Definitions("a.h", "namespace tpurun {\n" + text + "\n}\n")) {
    names.push_back(definition.name);
  }
  return names;
}

TEST(DefinitionsTest, NoTwoSourcesDefineOneName) {
  const auto sources = AllDefinitions({"cli", "data", "models", "proto", "runtime"});
  EXPECT_GT(sources.size(), 500) << "the sources are not read";
  EXPECT_THAT(Duplicates(sources, sources), IsEmpty()) << "rename one of each";
  // Each test is a program of its own with the sources.
  EXPECT_THAT(Duplicates(sources, AllDefinitions({"tests"})), IsEmpty())
      << "rename the test's, or put it into an unnamed namespace";
}

// The scan reads nothing as something else: a type that everybody knows is found where it stands.
TEST(DefinitionsTest, KnownDefinitionsAreFound) {
  const auto root = CheckoutRoot();
  const auto found = [&](const std::string& name, const std::string& file) {
    for (const Definition& definition : Definitions(file, ReadFile(root / file))) {
      if (definition.name == name) return true;
    }
    return false;
  };
  EXPECT_TRUE(found("tpurun::Graph", "runtime/ir/graph.h"));
  EXPECT_TRUE(found("tpurun::ExitCode(const absl :: Status &)", "runtime/base/status.cc"));
  EXPECT_TRUE(found("tpurun::kDevice", "runtime/spec/topology.h"));
  EXPECT_TRUE(found("tpurun::LineReader", "data/line_reader.h"));
}

TEST(DefinitionsTest, TheSameNameInTwoFilesIsCaught) {
  const auto a = Definitions("a.h", "namespace tpurun {\nstruct Use { int node; };\n}\n");
  const auto b = Definitions("b.cc", "namespace tpurun {\n\nclass Use {};\nclass Other {};\n}\n");
  EXPECT_THAT(Duplicates(a, b), ElementsAre("tpurun::Use: a.h:2 and b.cc:3"));
  EXPECT_THAT(Duplicates(a, a), IsEmpty());
  const auto function = [](const std::string& file, const std::string& parameters) {
    return Definitions(file, "namespace tpurun { inline int F(" + parameters + ") { return 1; } }");
  };
  EXPECT_THAT(Duplicates(function("a.h", "int a, Map<int, A> b = {}"),
                         function("b.h", "int b, Map<int, A> c")),
              SizeIs(1));
  EXPECT_THAT(Duplicates(function("a.h", "int a"), function("b.h", "double a")), IsEmpty());
}

TEST(DefinitionsTest, EveryKindOfDefinitionIsRead) {
  EXPECT_THAT(Names("struct A final : B<int> { struct Nested {}; void f() {} } a = {};\n"
                    "template <typename T, int n = 3> class C : public D { T x{1}; };\n"
                    "enum class E : int { kOne = 1, kTwo };\nunion U { int i; };\n"
                    "struct alignas(64) Line { char bytes[64]; };\n"),
              ElementsAre("tpurun::A", "tpurun::C", "tpurun::E", "tpurun::U", "tpurun::Line"));
  EXPECT_THAT(
      Names("[[noreturn]] void F(const A& a, std::vector<int> b, ...) { if (x) { } }\n"
            "template <typename T>\nT G(T) { return {}; }\n"
            "bool operator==(const A& a, const B& b) { return a; }\n"
            "inline constexpr int kN = 3;\ninline std::map<int, int> table{{1, 2}};\n"),
      ElementsAre("tpurun::F(const A &, std :: vector < int >, . . .)", "tpurun::G(T)",
                  "tpurun::operator==(const A &, const B &)", "tpurun::kN", "tpurun::table"));
  EXPECT_THAT(Names("namespace inner { struct A {}; }\nstruct B {};\n"),
              ElementsAre("tpurun::inner::A", "tpurun::B"));
}

TEST(DefinitionsTest, WhatNoOtherFileSeesIsLeftOut) {
  EXPECT_THAT(Names("namespace { struct A {}; int F() { return 1; } }\n"
                    "static int G() { return 2; }\nconstexpr int kN = 1;\n"
                    "const char* const kText = \"struct Q {}; }\"; char c = '}';\n"
                    "// struct R {};\n/* struct S {}; */\n#define T(x) \\\n  struct x {};\n"
                    "const char kRaw[] = R\"x(struct V {}; \")x\";\n"),
              IsEmpty());
  EXPECT_THAT(Names("class A;\nint F(int a, int b = 1);\nusing B = std::map<int, int>;\n"
                    "A::A(int a) : a_(a), b_{a}, c_{} { x(); }\nint A::f() const { return 1; }\n"
                    "A::Kind A::g() { return {}; }\ntemplate <> struct Hash<A> { int f() {} };\n"
                    "extern int n;\nextern \"C\" { void* malloc(size_t n) { return nullptr; } "
                    "}\nTEST(Suite, Name) { struct Local {}; }\n"),
              IsEmpty());
}

}  // namespace
}  // namespace tpurun
