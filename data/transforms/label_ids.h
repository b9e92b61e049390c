// The ids of labels that an input has as names of classes, or looks up.
#ifndef TPURUN_DATA_TRANSFORMS_LABEL_IDS_H_
#define TPURUN_DATA_TRANSFORMS_LABEL_IDS_H_

#include <string>

#include "data/table.h"
#include "data/transforms/transform_list.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Replaces the STRING column of the label by the indices of its strings in label.vocabulary, INT32.
// The transform returns DataLoss for another string and names it.
RowTransform LabelIds(const FeatureSpec& label, const Schema& input);

// Makes a lookup that makes the label, one of lookup->makes, return DataLoss for a value that is
// not in the vocabulary, whose id would be -1.
void RequireKnownLabels(const std::string& label, RowTransform* lookup);

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_LABEL_IDS_H_
