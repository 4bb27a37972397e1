"""Records what the flight recorder of PyTorch 2.15.0 dumps, with three gloo ranks:

  for r in 0 1 2; do TORCH_FR_BUFFER_SIZE=2000 python ranks.py $r missing OUT & done; wait

missing: rank 1 never calls the third all_reduce.
mismatch: rank 2 calls a broadcast where the others call all_reduce.
"""
import datetime, os, sys, time

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29577", GLOO_SOCKET_IFNAME="lo")
import torch
import torch.distributed as dist
import torch._C._distributed_c10d as c10d


def average_gradients(x):
    dist.all_reduce(x)


def train(rank, how):
    x = torch.ones(8)
    for _ in range(2):
        average_gradients(x)
    if how == "missing" and rank == 1:
        time.sleep(6)  # its loader hangs
    elif how == "mismatch" and rank == 2:
        dist.broadcast(x, 0)
    else:
        average_gradients(x)


rank, how, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
dist.init_process_group("gloo", rank=rank, world_size=3, timeout=datetime.timedelta(seconds=4))
try:
    train(rank, how)
except RuntimeError as e:
    print(rank, e)
with open(f"{out}/nccl_trace_rank_{rank}", "wb") as f:
    f.write(c10d._dump_fr_trace())
with open(f"{out}/fr_trace_rank_{rank}.json", "w") as f:
    j = c10d._dump_fr_trace_json()
    f.write(j.decode() if isinstance(j, bytes) else j)
os._exit(0)
