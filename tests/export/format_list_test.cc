// The tables of export formats and of exporters have a row for each choice of the configuration.
#include "runtime/export/format_list.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"
#include "proto/field_rules.h"
#include "runtime/base/text.h"
#include "runtime/estimator/exporters.h"
#include "runtime/spec/export_names.h"

namespace tpurun {
namespace {

TEST(ExportFormatListTest, HasEachValueOfExportFormat) {
  const auto& values = RulesOf(*proto::Export::descriptor()->FindFieldByName("export_format")).in();
  std::set<std::string> names;
  for (const ExportFormatDef& format : ExportFormatList()) names.insert(Quote(format.name));
  EXPECT_EQ(names, std::set<std::string>(values.begin(), values.end()));
}

TEST(ExportFormatListTest, ItsFoldersAreNoNamesOfExporters) {
  for (const ExportFormatDef& format : ExportFormatList()) {
    if (format.folder.empty()) continue;
    EXPECT_EQ(std::count(std::begin(kFormatFolders), std::end(kFormatFolders), format.folder), 1)
        << format.name;
  }
}

TEST(ExporterListTest, HasEachKindOfExporter) {
  std::set<std::string> kinds, names;
  const auto& oneof = *proto::Exporter::descriptor()->FindOneofByName("exporter");
  for (int i = 0; i < oneof.field_count(); ++i) kinds.insert(oneof.field(i)->name());
  for (const ExporterDef& def : ExporterList()) names.insert(def.name);
  EXPECT_EQ(names, kinds);
}

}  // namespace
}  // namespace tpurun
