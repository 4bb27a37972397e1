package main

import (
	"fmt"
	"strings"
)

// other is a line without metrics: most of it harmless, some of it made to look like a failure.
func (g *run) other() string {
	switch k := g.r.IntN(1000); {
	case k < 400:
		return g.info()
	case k < 620:
		return g.nccl()
	case k < 700:
		return pick(g, warnings)
	case k < 998:
		return fmt.Sprintf(pick(g, numbers), g.r.Float64()*3, g.r.Float64()*400)
	}
	return g.traceback()
}

func pick(g *run, of []string) string { return of[g.r.IntN(len(of))] }

func (g *run) info() string {
	return g.stamp() + ",123 - INFO - " + pick(g, modules) + " - " + fmt.Sprintf(pick(g, messages), g.r.IntN(100000))
}

func (g *run) nccl() string {
	return fmt.Sprintf("node%02d:%d:%d [%d] ", g.r.IntN(16), 1200+g.r.IntN(64), 2100+g.r.IntN(64), g.r.IntN(8)) + fmt.Sprintf(pick(g, ncclInfo), g.r.IntN(8))
}

// traceback is of an exception that the run outlives.
func (g *run) traceback() string {
	var tb strings.Builder
	tb.WriteString("Traceback (most recent call last):\n")
	for range 3 + g.r.IntN(8) {
		fmt.Fprintf(&tb, "  File \"/opt/conda/lib/python3.11/site-packages/%s.py\", line %d, in forward\n    return self._call_impl(*args, **kwargs)\n", pick(g, modules), 10+g.r.IntN(2000))
	}
	tb.WriteString(pick(g, exceptions))
	return tb.String()
}

// hit is a line that signatures match: ours and those of signatures-300.txt.
func (g *run) hit() string { return fmt.Sprintf(pick(g, hits), g.r.IntN(100000)) }

var modules = []string{
	"transformers.trainer",
	"torch.distributed.run",
	"accelerate.utils",
	"datasets.builder",
	"deepspeed.runtime.engine",
	"megatron.core.optimizer",
	"pytorch_lightning.callbacks",
	"__main__",
}

var messages = []string{
	"Saving model checkpoint to /ckpt/run-17/checkpoint-%d",
	"Configuration saved in /ckpt/run-17/checkpoint-%d/config.json",
	"Model weights saved in /ckpt/run-17/checkpoint-%d/model.safetensors",
	"Deleting older checkpoint [/ckpt/run-17/checkpoint-%d] due to args.save_total_limit",
	"***** Running Evaluation ***** step %d",
	"  Num examples = %d",
	"  Batch size = %d",
	"Loading dataset shard %d from cache /data/cache/shard.arrow",
	"Dataloader worker %d started, prefetch_factor=4, pin_memory=True",
	"gc.collect freed %d objects",
	"Evaluation finished in %d ms",
	"Wrote tensorboard event file /runs/tb/events.out.tfevents.%d",
	"rotating logs, kept %d files, no errors found so far",
	"heartbeat ok from 64 of 64 workers, seq %d, timeout in 1800 s",
	"CUDA graphs captured for batch size %d",
}

var ncclInfo = []string{
	"NCCL INFO Channel %02d/08 : 0 1 2 3 4 5 6 7",
	"NCCL INFO Channel %02d/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
	"NCCL INFO Using network IB, rank %d",
	"NCCL INFO comm 0x55d0c8a3b0a0 rank %d nranks 64 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x6fd1d6 - Init COMPLETE",
	"NCCL INFO NET/IB : Using [%d]mlx5_0:1/IB [RO]; OOB eth0:10.0.1.3<0>",
	"NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->%d",
	"NCCL INFO threadThresholds 8/8/64 | 512/8/64 | 512 | 512 chunk %d",
}

var warnings = []string{
	"/usr/lib/python3.11/site-packages/torch/utils/checkpoint.py:460: UserWarning: torch.utils.checkpoint: please pass in use_reentrant=True or use_reentrant=False explicitly.\n  warnings.warn(",
	"/opt/conda/lib/python3.11/site-packages/torch/optim/lr_scheduler.py:143: UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the opposite order.\n  warnings.warn(\"Detected call of `lr_scheduler.step()` before `optimizer.step()`.\")",
	"/opt/conda/lib/python3.11/site-packages/transformers/tokenization_utils_base.py:1601: FutureWarning: `clean_up_tokenization_spaces` was not set. It will be set to `True` by default.\n  warnings.warn(",
	"2026-10-01 12:00:01.123456: I tensorflow/core/platform/cpu_feature_guard.cc:182] This TensorFlow binary is optimized to use available CPU instructions in performance-critical operations.",
	"2026-10-01 12:00:01.223456: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
	"[W1001 12:00:01.000000000 CUDAAllocatorConfig.h:28] Warning: expandable_segments not supported on this platform (function operator())",
	"huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...\nTo disable this warning, you can either:\n\t- Avoid using `tokenizers` before the fork if possible\n\t- Explicitly set the environment variable TOKENIZERS_PARALLELISM=(true | false)",
	"Token indices sequence length is longer than the specified maximum sequence length for this model (2113 > 2048). Running this sequence through the model will result in indexing errors",
}

var numbers = []string{
	"torch.Size([8, 2048, 4096]) dtype=torch.bfloat16 device='cuda:0' max=%.4f min=-%.4f",
	"  (self_attn): LlamaSdpaAttention( q_proj=Linear(in_features=4096, out_features=4096, bias=False) scale %.4f %.4f )",
	"param model.layers.17.mlp.down_proj.weight mean %.6f std %.6f",
	"gpu0 util 97%% mem 61234MiB / 81559MiB power %.1fW temp %.0fC",
	"tokenizer sample: the quick brown fox jumps over the lazy dog, score %.3f %.3f",
	"optimizer state norm exp_avg %.5f exp_avg_sq %.5f",
}

var exceptions = []string{
	"requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='hub.local', port=443): Read timed out. (read timeout=10)",
	"ValueError: could not parse sample 1723, skipping",
	"FileNotFoundError: [Errno 2] No such file or directory: '/data/shards/00017.tar'",
	"KeyError: 'labels'",
}

var hits = []string{
	"RuntimeError: CUDA error: an illegal instruction was encountered (%d)",
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %d.00 MiB.",
	"OSError: [Errno 28] No space left on device: '/ckpt/part-%d'",
	"RuntimeError: CUDA error: device-side assert triggered, kernel %d",
	"ncclInternalError: Internal check failed on channel %d",
	"RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED in layer %d",
	"torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError: attempt %d",
	"requests.exceptions.ConnectionError: [Errno 111] Connection refused by shard %d",
}

var failures = []string{
	"Traceback (most recent call last):\n  File \"/wk/train.py\", line 412, in <module>\n    main()\n  File \"/wk/train.py\", line 377, in main\n    loss.backward()\n  File \"/opt/conda/lib/python3.11/site-packages/torch/_tensor.py\", line 525, in backward\n    torch.autograd.backward(\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.92 GiB is free. Process 7 has 77.22 GiB memory in use. Of the allocated memory 70.12 GiB is allocated by PyTorch, and 5.11 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
	"[rank3]:[E1001 12:00:01.000 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=123456, OpType=ALLREDUCE, NumelIn=16777216, NumelOut=16777216, Timeout(ms)=1800000) ran for 1800021 milliseconds before timing out.",
	"../aten/src/ATen/native/cuda/Indexing.cu:1289: indexSelectLargeIndex: block: [12,0,0], thread: [64,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\nRuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
	"OSError: [Errno 28] No space left on device",
	"step=991200 loss: nan grad_norm: nan",
	"slurmstepd: error: *** JOB 881723 ON node07 CANCELLED AT 2026-10-09T11:22:33 DUE TO TIME LIMIT ***",
	"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n============================================================\ntrain.py FAILED\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-10-09_11:22:33\n  host      : node07\n  rank      : 3 (local_rank: 3)\n  exitcode  : -9 (pid: 1234)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 1234",
}
