// The bidirectional layer: two copies of a recurrent layer, one per direction of time.
#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "proto/one_of.h"

namespace tpurun {

// ---- bidirectional (Keras Bidirectional): the states of both, side by side, their sum, product or
// mean. Those of every step stand where the step is, and are 0 where the step is masked: Keras sets
// zero_output_for_mask of both layers.

void CheckBidirectional(const proto::Layer& layer, ConfigErrors& errors) {
  const Layers& layers = layer.bidirectional().layer();
  if (layers.size() != 1) {
    errors.Add("bidirectional",
               absl::StrCat("a bidirectional wants one layer, got ", layers.size()));
    return;
  }
  const google::protobuf::FieldDescriptor* const kind = ChosenKind(layers.Get(0));
  const std::string name = kind == nullptr ? "none" : kind->name();
  if (name == "lstm" || name == "gru" || name == "simple_rnn") return;
  errors.Add("bidirectional.layer[0]",
             absl::StrCat("a bidirectional wants an lstm, gru or simple_rnn, got ", name));
}

namespace {

bool GoesBackwards(const proto::Layer& layer) {
  return layer.lstm().go_backwards() || layer.gru().go_backwards() ||
         layer.simple_rnn().go_backwards();
}

// The layer under the name PREFIX_NAME. Its direction is set, so that it is not that of
// layer_defaults.
std::shared_ptr<Layers> OneDirection(const proto::Layer& written, const std::string& prefix,
                                     bool go_backwards) {
  const auto layers = std::make_shared<Layers>();
  proto::Layer& layer = *layers->Add();
  layer = written;
  if (layer.has_lstm()) layer.mutable_lstm()->set_go_backwards(go_backwards);
  if (layer.has_gru()) layer.mutable_gru()->set_go_backwards(go_backwards);
  if (layer.has_simple_rnn()) layer.mutable_simple_rnn()->set_go_backwards(go_backwards);
  layer.set_name(prefix + (written.has_name() ? written.name() : ChosenKind(written)->name()));
  return layers;
}

Value Merge(LayerContext& layer, Value forward, Value backward) {
  GraphBuilder& b = layer.b;
  switch (layer.layer.bidirectional().merge_mode()) {
    case proto::Bidirectional::SUM:
      return Add(b, forward, backward);
    case proto::Bidirectional::MUL:
      return Mul(b, forward, backward);
    case proto::Bidirectional::AVE:
      return Mul(b, Add(b, forward, backward), Scalar(b, 0.5));
    case proto::Bidirectional::CONCAT:
      break;
  }
  return Concat(b, {forward, backward}, layer.shape(0).rank() - 1);
}

}  // namespace

std::vector<LayerBlock> ExpandBidirectional(const proto::Layer& layer) {
  const proto::Layer& written = layer.bidirectional().layer(0);
  const bool backwards = GoesBackwards(written);
  return {
      {.field = "bidirectional.layer", .layers = OneDirection(written, "forward_", backwards)},
      {.field = "bidirectional.layer", .layers = OneDirection(written, "backward_", !backwards)}};
}

Value BuildBidirectional(LayerContext& layer) {
  GraphBuilder& b = layer.b;
  const Value forward = layer.inputs[0].value, backward = layer.inputs[1].value;
  if (layer.shape(1).rank() < 3) return Merge(layer, forward, backward);
  // A layer that goes backwards gives its states in the order that it read.
  const Value states = Merge(layer, forward, Reverse(b, backward, 1));
  Value mask = layer.inputs[0].mask;
  if (!mask.valid()) return states;
  if (GoesBackwards(layer.layer.bidirectional().layer(0))) mask = Reverse(b, mask, 1);
  const Value kept = Broadcast(b, mask, b.shape(states).dims, {0, 1});
  return Select(b, Greater(b, kept, Scalar(b, 0)), states, Scalar(b, 0));
}

}  // namespace tpurun
