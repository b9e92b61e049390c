#include "runtime/io/hparams.h"

#include "proto/hparams.pb.h"
#include "proto/serialize.h"

namespace tpurun {
namespace {

using tensorboard::hparams::HParamsPluginData;

void Add(const std::string& tag, const HParamsPluginData& data, tensorflow::Summary* summary) {
  tensorflow::Summary::Value& value = *summary->add_value();
  value.set_tag(tag);
  tensorflow::SummaryMetadata::PluginData& plugin =
      *value.mutable_metadata()->mutable_plugin_data();
  plugin.set_plugin_name("hparams");
  plugin.set_content(SerializeDeterministically(data));
  // A value of its own, which nobody reads.
  value.mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  value.mutable_tensor()->mutable_tensor_shape();
  value.mutable_tensor()->add_float_val(0);
}

struct Setter {
  tensorboard::hparams::Value& to;
  void operator()(double value) const { to.set_number_value(value); }
  void operator()(bool value) const { to.set_bool_value(value); }
  void operator()(const std::string& value) const { to.set_string_value(value); }
};

}  // namespace

void AddSessionStartInfo(const std::vector<HParam>& hparams, double time,
                         tensorflow::Summary* summary) {
  HParamsPluginData data;
  tensorboard::hparams::SessionStartInfo& start = *data.mutable_session_start_info();
  start.set_start_time_secs(time);
  for (const HParam& hparam : hparams) {
    std::visit(Setter{(*start.mutable_hparams())[hparam.name]}, hparam.value);
  }
  Add("_hparams_/session_start_info", data, summary);
}

void AddSessionEndInfo(bool success, double time, tensorflow::Summary* summary) {
  HParamsPluginData data;
  data.mutable_session_end_info()->set_status(success ? tensorboard::hparams::STATUS_SUCCESS
                                                      : tensorboard::hparams::STATUS_FAILURE);
  data.mutable_session_end_info()->set_end_time_secs(time);
  Add("_hparams_/session_end_info", data, summary);
}

}  // namespace tpurun
