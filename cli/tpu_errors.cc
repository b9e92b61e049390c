#include "cli/tpu_errors.h"

namespace tpurun {
namespace {

constexpr TpuErrorDoc kTpuErrors[] = {
    {"E1", "2", "a feature or label of unknown shape: write every size"},
    {"E2", "", "a prediction of unknown batch size: every one has the batch in front"},
    {"E3", "2",
     "a last partial batch in training: drop_remainder, or repeat before batch; evaluate and "
     "predict pad it with examples of weight 0"},
    {"E4", "2", "a batch that the cores do not divide: the nearest multiples are named"},
    {"E5", "2",
     "tpu_config.num_shards that is not the number of cores of a TPU: 8, 16, 32 ... 512"},
    {"E6", "3",
     "a feature or label of a type that the infeed does not take (UINT8, STRING, FLOAT64), or of "
     "INT64 under strict_dtypes: cast it in the input"},
    {"E7", "3", "a type that the TPU does not compute in (FLOAT64, bytes)"},
    {"E8", "3",
     "INT64 for an op that computes with floats: cast it; the others take INT64 as well as INT32"},
    {"E9", "3",
     "an op that a TPU does not have: every one is named, with what comes near; one that only "
     "tpurun "
     "does not have is a mistake of the configuration (2)"},
    {"E10", "", "a summary within the loop: `summary` entries are written by the host"},
    {"E11", "", "a Print op: there is none (E9), a summary shows values"},
    {"E12", "", "a placeholder: features come through the infeed alone"},
    {"E13", "", "a variable that is no resource: all are"},
    {"E14", "2", "replicas whose gradients never meet: cross_shard { reduction: MEAN }"},
    {"E15", "2", "a metric of what has no batch: an op's result must have the examples first"},
    {"E16", "2", "train without a length: max_steps, steps or epochs"},
    {"E17", "65",
     "a training input that ends before its steps: those before it are saved, and what is missing "
     "is counted; an evaluation says what it had"},
    {"E18", "4",
     "a program larger than memory: this machine's where it runs, a TPU core's where tpurun check "
     "forecasts it; what does not fit is named"},
    {"E19", "", "a local path: all paths are"},
    {"E20", "1", "NaN or infinity while training: the first step is named"},
    {"E21", "3", "an op whose result is as large as the data says: no layer has one (E9)"},
    {"E22", "", "an input that is no Dataset: all are"},
    {"E23", "", "a tensor that cannot be split among the cores: all have the batch in front (E4)"},
    {"E24", "", "a TPU computation within another: a model has no such thing"},
    {"E25", "2", "more than 1 GiB of predictions in a batch: fewer keys, or a smaller batch"},
    {"E26", "", "an EstimatorSpec for a TPUEstimatorSpec: a ModelSpec is both"},
    {"E27", "2", "cores for model parallelism that do not fit: each field is named"},
    {"E28", "",
     "features that differ between calls of the input: the model declares them, and the input is "
     "compared with it (2), each record too (65)"},
};

}  // namespace

std::span<const TpuErrorDoc> TpuErrors() { return kTpuErrors; }

}  // namespace tpurun
