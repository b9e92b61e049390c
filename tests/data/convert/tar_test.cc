// Archives made block by block. Those of Python's tarfile: tests/e2e/imagenet_test.py.
#include "data/convert/tar.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using namespace std::string_literals;

const std::string kEndMark(1024, '\0');

struct Header {
  std::string name;
  std::string size = "00000000000";
  char type = '0';
  std::string magic = "ustar\00000"s;
  std::string prefix = "";
};

std::string Block(const Header& header, bool signed_sum = false) {
  std::string block(512, '\0');
  const auto put = [&](size_t at, const std::string& text) {
    block.replace(at, text.size(), text);
  };
  put(0, header.name);
  put(100, "0000644");
  put(124, header.size);
  put(148, "        ");
  put(156, std::string(1, header.type));
  put(257, header.magic);
  put(345, header.prefix);
  int sum = 0;
  for (const char c : block) sum += signed_sum ? static_cast<int8_t>(c) : static_cast<uint8_t>(c);
  put(148, absl::StrFormat("%06o", sum) + "\0 "s);
  return block;
}

std::string Padded(const std::string& data) {
  return data + std::string((512 - data.size() % 512) % 512, '\0');
}

std::string File(const std::string& name, const std::string& data, char type = '0') {
  return Block({.name = name, .size = absl::StrFormat("%011o", data.size()), .type = type}) +
         Padded(data);
}

class TarTest : public ::testing::Test {
 protected:
  // "NAME=DATA;" of each file, or the error.
  std::string List(const std::string& bytes) { return ListPart(bytes, {0, bytes.size()}); }

  std::string ListPart(const std::string& bytes, const FileRange& range) {
    EXPECT_TRUE(WriteFileAtomically(dir_.Path("t"), bytes).ok());
    const auto file = RandomAccessFile::Open(dir_.Path("t")).value();
    const auto members = ListTar(*file, range);
    if (!members.ok()) {
      return absl::StrReplaceAll(members.status().ToString(), {{dir_.path() + "/", ""}});
    }
    std::string text;
    for (const TarMember& member : *members) {
      absl::StrAppend(&text, member.name, "=", bytes.substr(member.range.offset, member.range.size),
                      ";");
    }
    return text;
  }

 private:
  const TempDir dir_;
};

TEST_F(TarTest, RegularFilesInTheirOrder) {
  EXPECT_EQ(List(File("b", "two") + File("a", "") + File("c", std::string(512, 'x')) +
                 File("d/", "", '5') + File("old/", "", '\0') + File("d/old", "3", '\0') +
                 File("d/solid", "4", '7') + kEndMark),
            "b=two;a=;c=" + std::string(512, 'x') + ";d/old=3;d/solid=4;");
  EXPECT_EQ(List(kEndMark), "");
  // What is behind the end mark does not count.
  EXPECT_EQ(List(File("a", "1") + kEndMark + "rest"), "a=1;");
  EXPECT_EQ(List(File("a", "1") + std::string(512, '\0')), "a=1;");
}

TEST_F(TarTest, NumbersInTheirForms) {
  for (const char* const size : {"3", "00000000003", "          3 ", "000000000003"}) {
    EXPECT_EQ(List(Block({.name = "a", .size = size}) + Padded("abc") + kEndMark), "a=abc;");
  }
  const std::string binary = "\x80\0\0\0\0\0\0\0\0\0\0\x03"s;
  EXPECT_EQ(List(Block({.name = "a", .size = binary}) + Padded("abc") + kEndMark), "a=abc;");
  EXPECT_EQ(List(Block({.name = "\xe9t\xe9"}, true) + kEndMark), "\xe9t\xe9=;");
}

TEST_F(TarTest, LongNames) {
  const std::string name(100, 'n'), prefix(155, 'p'), longer = std::string(150, 'x') + "/y";
  EXPECT_EQ(List(Block({.name = name, .prefix = prefix}) + kEndMark), prefix + "/" + name + "=;");
  // GNU has other fields there.
  EXPECT_EQ(List(Block({.name = "a", .magic = "ustar  \0"s, .prefix = "12345"}) + kEndMark), "a=;");
  EXPECT_EQ(List(File("././@LongLink", longer + "\0"s, 'L') + File("short", "1") +
                 File("next", "2") + kEndMark),
            longer + "=1;next=2;");
  EXPECT_EQ(List(File("././@LongLink", "target\0"s, 'K') + File("a", "1") + kEndMark), "a=1;");
  const std::string record = "14 path=a b/c\n";
  ASSERT_EQ(record.size(), 14);
  EXPECT_EQ(List(File("pax", record + "20 mtime=12345.6789\n", 'x') + File("short", "1") +
                 File("next", "2") + kEndMark),
            "a b/c=1;next=2;");
  // Of all files: nothing that a list of files needs.
  EXPECT_EQ(List(File("pax", "13 comment=x\n", 'g') + File("a", "1") + kEndMark), "a=1;");
}

TEST_F(TarTest, ASizeInAPaxRecord) {
  EXPECT_EQ(List(File("pax", "10 size=3\n", 'x') + Block({.name = "a"}) + Padded("abc") + kEndMark),
            "a=abc;");
}

TEST_F(TarTest, APartOfAFile) {
  const std::string inner = File("a", "1") + kEndMark, outer = File("i.tar", inner) + kEndMark;
  EXPECT_EQ(ListPart(outer, {512, inner.size()}), "a=1;");
  EXPECT_EQ(
      ListPart(outer, {512, 700}),
      "DATA_LOSS: t: a truncated tar archive: it ends 188 bytes after the header of a file of "
      "1 bytes (offset 512)");
}

TEST_F(TarTest, WhatIsDamaged) {
  const std::string file = File("a", "abc");
  std::string flipped = file;
  flipped[3] ^= 1;
  const auto sized = [](const std::string& size) {
    return Block({.name = "a", .size = size}) + kEndMark;
  };
  struct Case {
    std::string bytes, message;
  };
  for (const Case& bad : std::vector<Case>{
           {"", "not a tar archive: it is empty (offset 0)"},
           {"short", "a truncated tar archive: it ends without its end mark (offset 0)"},
           {std::string(600, 'x'), "not a tar archive: it begins with \"xxxxxxxx\" (offset 0)"},
           {"\x1f\x8b\x08\x00"s + std::string(600, 'x'),
            "not a tar archive: it begins with \"\\037\\213\\010\\000xxxx\", as a compressed file "
            "does; decompress it first (offset 0)"},
           {flipped + kEndMark,
            "not a tar archive: it begins with \"a\\000\\000\\001\\000\\000"
            "\\000\\000\" (offset 0)"},
           {file + flipped + kEndMark,
            "a damaged tar archive: a header with a wrong sum (offset 1024)"},
           {file, "a truncated tar archive: it ends without its end mark (offset 1024)"},
           {file + std::string(511, '\0'),
            "a truncated tar archive: it ends without its end mark (offset 1024)"},
           {file.substr(0, 514),
            "a truncated tar archive: it ends 2 bytes after the header of a file of 3 bytes "
            "(offset 0)"},
           {file.substr(0, 1023),
            "a truncated tar archive: it ends 511 bytes after the header of a file of 3 bytes "
            "(offset 0)"},
           {sized("0000000000x"),
            "a damaged tar archive: the size of a file is \"0000000000x\\000\" (offset 0)"},
           {sized("\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
            "a damaged tar archive: the size of a file is "
            "\"\\200\\377\\377\\377\\377\\377\\377\\377\\377\\377\\377\\377\" (offset 0)"},
           {sized("\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"s),
            "a truncated tar archive: it ends 1024 bytes after the header of a file of "
            "18446744073709551615 bytes (offset 0)"},
           {file + Block({.name = "l", .size = "00000001000", .type = '2'}) + kEndMark,
            "\"l\" is a link, want a file: pack with tar --dereference --hard-dereference (offset "
            "1024)"},
           {File("a", "x", 'S'),
            "a file that is stored in pieces (sparse, or of several volumes), want an archive of "
            "whole files (offset 0)"},
           {File("pax", "22 GNU.sparse.major=1\n", 'x'),
            "a file that is stored in pieces (sparse, or of several volumes), want an archive of "
            "whole files (offset 0)"},
           {File("pax", "9 path=a\n8 size=x\n", 'x'),
            "a damaged tar archive: a pax record \"8 size=x\\n\" (offset 0)"},
           {File("pax", "90 path=a\n", 'x'),
            "a damaged tar archive: a pax record \"90 path=a\\n\" (offset 0)"},
           {File("pax", "7 path\n", 'x'),
            "a damaged tar archive: a pax record \"7 path\\n\" (offset 0)"},
           {File("pax", "11 size=-1\n", 'x'),
            "a damaged tar archive: a pax record \"11 size=-1\\n\" (offset 0)"},
           {File("long", std::string((1 << 20) + 1, 'x'), 'L'),
            "a damaged tar archive: a name of 1048577 bytes (offset 0)"},
       }) {
    EXPECT_EQ(List(bad.bytes), "DATA_LOSS: t: " + bad.message);
  }
}

}  // namespace
}  // namespace tpurun
