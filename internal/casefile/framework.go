package casefile

import "strings"

// frameworks maps words of logs to frameworks; the first that was seen in the
// head, the tail or a traceback wins, so the most specific stand first.
var frameworks = []struct{ name, words string }{
	{"nemo", "nemo_logging|nemo/collections|[NeMo "},
	{"megatron", "megatron|using world size:|tensor-model-parallel"},
	{"deepspeed", "deepspeed|DeepSpeed"},
	{"fsdp", "FullyShardedDataParallel|fully_sharded_data_parallel|FSDP|fsdp"},
	{"lightning", "pytorch_lightning|lightning.pytorch|lightning/pytorch|`Trainer.fit` stopped|LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES|TPU available:"},
	{"transformers", "transformers/trainer|***** Running training *****|transformers.trainer|INFO|trainer.py|'train_runtime'|transformers/"},
	{"accelerate", "accelerate/|accelerate.commands"},
	{"keras", "keras/|keras.src|[=====|step - loss:|ms/step"},
	{"tensorflow", "tensorflow/|tensorflow.python"},
	{"jax", "jaxlib|jax/_src|jax.errors|XlaRuntimeError|completed step:"},
	{"xgboost", "xgboost"},
	{"lightgbm", "[LightGBM]"},
	{"catboost", "catboost"},
	{"mxnet", "mxnet|[Epoch 0]"},
	{"paddle", "paddle"},
	{"caffe", "caffe"},
	{"pytorch", "torch/|torch.|torchrun|torch_|CUDA error|NCCL|pytorch|PyTorch"},
}

// detectFramework sets Framework unless it was given.
func (f *File) detectFramework() {
	if f.Framework != "" && f.Framework != "unknown" {
		return
	}
	f.Framework = "unknown"
	var text strings.Builder
	for _, s := range f.Logs() {
		for _, l := range s.Head {
			text.WriteString(l.Text + "\n")
		}
		for _, l := range s.Tail {
			text.WriteString(l.Text + "\n")
		}
	}
	for _, t := range f.Tracebacks {
		text.WriteString(t.Type + "\n")
		for _, fr := range t.Frames {
			text.WriteString(fr.File + "\n")
		}
	}
	all := text.String()
	for _, fw := range frameworks {
		for _, w := range strings.Split(fw.words, "|") {
			if strings.Contains(all, w) {
				f.Framework = fw.name
				return
			}
		}
	}
}
