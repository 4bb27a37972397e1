package casefile

import (
	"slices"
	"strings"
)

// frameworks maps words of logs to frameworks. The most specific stand first:
// a NeMo run shows Lightning and PyTorch too.
var frameworks = []struct {
	name  string
	words []string
}{
	{"nemo", []string{"nemo_logging", "nemo/collections", "[NeMo ", "nemo.collections"}},
	{"megatron", []string{"megatron", "using world size:", "tensor-model-parallel size", "[after training is done]", "number of nan iterations"}},
	{"deepspeed", []string{"deepspeed", "DeepSpeed"}},
	{"fsdp", []string{"FullyShardedDataParallel", "fully_sharded_data_parallel", "FSDP", "fsdp"}},
	{"lightning", []string{"pytorch_lightning", "lightning.pytorch", "lightning/pytorch", "`Trainer.fit` stopped", "TPU available:", "HPU available:"}},
	{"transformers", []string{"transformers/trainer", "***** Running training *****", "[INFO|trainer.py:", "[WARNING|trainer.py:", "'train_runtime'", "site-packages/transformers/", "transformers.trainer"}},
	{"accelerate", []string{"site-packages/accelerate/", "accelerate.commands"}},
	{"ultralytics", []string{"ultralytics", "Ultralytics YOLO"}},
	{"mmengine", []string{"mmengine", "mmcv", "mmdet"}},
	{"detectron2", []string{"detectron2", "d2.utils.events"}},
	{"fairseq", []string{"fairseq"}},
	{"keras", []string{"site-packages/keras", "keras.src", "keras/engine", "ms/step - ", "s/step - loss", "=] - ETA:"}},
	{"tensorflow", []string{"tensorflow/", "tensorflow.python"}},
	{"jax", []string{"jaxlib", "jax/_src", "jax.errors", "XlaRuntimeError", "completed step:", "MaxText", "jax.distributed"}},
	{"xgboost", []string{"xgboost", "train-rmse", "train-logloss"}},
	{"lightgbm", []string{"[LightGBM]", "lightgbm"}},
	{"catboost", []string{"catboost"}},
	{"mxnet", []string{"mxnet"}},
	{"paddle", []string{"paddle"}},
	{"caffe", []string{"caffe.cpp", "solver.cpp:", "caffe train"}},
	{"pytorch", []string{"torch/", "torch.", "torchrun", "CUDA error", "NCCL", "pytorch", "PyTorch"}},
}

// detectFramework sets Framework unless it was given: the first whose words
// stand in the head, the tail or a traceback; state dicts on disk are PyTorch's.
func (f *File) detectFramework() {
	if f.Framework != "" && f.Framework != "unknown" {
		return
	}
	best := len(frameworks)
	for text := range f.spoken {
		for i, fw := range frameworks[:best] {
			if slices.ContainsFunc(fw.words, func(w string) bool { return strings.Contains(text, w) }) {
				best = i
				break
			}
		}
	}
	if best < len(frameworks) {
		f.Framework = frameworks[best].name
		return
	}
	f.Framework = "unknown"
	for _, c := range f.Checkpoints {
		if pytorchFormats[c.Format] {
			f.Framework = "pytorch"
			return
		}
	}
}

var pytorchFormats = map[string]bool{"torch": true, "hf": true, "safetensors": true, "dcp": true}

// spoken gives what the logs say where programs introduce themselves and where
// they fail, of a log that is followed only what is new.
func (f *File) spoken(yield func(string) bool) {
	for _, s := range f.Logs() {
		last := s.spoken
		for l := range s.Kept {
			if l.Ref.Line <= last {
				continue
			}
			if !yield(l.Text) {
				return
			}
			s.spoken = max(s.spoken, l.Ref.Line-1) // the last line may grow
		}
		for _, rank := range sortedRanks(s.Readers) {
			if !yield(formatWords[s.Readers[rank].Progress().Format]) {
				return
			}
		}
	}
	for _, t := range f.Tracebacks {
		for _, fr := range t.Frames {
			if !yield(fr.File) {
				return
			}
		}
		if !yield(t.Type) {
			return
		}
	}
}

// formatWords says which framework a format of progress lines gives away.
var formatWords = map[string]string{"transformers": "site-packages/transformers/", "keras": "keras.src", "megatron": "megatron", "lightning-rich": "lightning.pytorch", "yolo": "ultralytics", "fairseq": "fairseq"}
