package nccl

import "github.com/trainmedic/trainmedic/internal/failure"

var (
	allRankLogs = failure.Look("Collect the last lines of every rank's log and of every node's kernel log, and start with the rank whose last line is oldest",
		"finds the rank that failed or stood still first", "one rank's log ends before the timeout of the others", "", 300, 0.85)
	debugRun = failure.Change("Repeat with NCCL_DEBUG=INFO, TORCH_DISTRIBUTED_DEBUG=DETAIL and TORCH_NCCL_TRACE_BUFFER_SIZE=2000",
		"names the call, the peer and the interface that failed", "the log names them at the next failure", 900, 0.6, 0.5)
	stackDump = failure.Look("While it stands still, dump the Python stacks of all ranks with py-spy and compare them",
		"shows which rank is somewhere else", "one rank is not in the collective that the others wait in", "", 300, 0.7)
	countRanks = failure.Look("Compare the world size with the ranks that were started: tasks per node, nodes, and each rank's own first log line",
		"names the ranks that are missing", "started ranks are fewer than the world size", "", 120, 0.85)
	launchAll = failure.Change("Start one process per rank on every node (with SLURM: srun, and --ntasks-per-node equal to the GPUs per node), or set the world size to what is started",
		"all ranks meet", "the log shows that all ranks joined; 50 steps pass", 600, 0.8, 0.95)
	debugCollectives = failure.Change("Repeat with TORCH_DISTRIBUTED_DEBUG=DETAIL: each collective is compared between the ranks before it runs",
		"names the ranks and the collective that differ; slower", "the error names two different collectives or shapes", 900, 0.8, 0.5)
	samePath = failure.Change("Let every rank run the same modules and collectives in each step: a dummy input for a branch that a rank's batch does not need, equal numbers of batches on all ranks",
		"removes the failure", "the run passes the step of the failure by 200 steps", 3600, 0.7, 0.95)
	probeMaster = failure.Look("From the failing host, look whether the rendezvous address resolves and its port answers",
		"tells name, route, firewall and a host that does not listen apart", "the probe fails in the same way", "", 120, 0.8)
	rightAddress = failure.Change("Give all ranks an address of the first host that the others can reach (its IP on the cluster network) and a port that is open",
		"the ranks meet", "all ranks join within a minute; 50 steps pass", 300, 0.75, 0.95)
	whoHasPort = failure.Look("See which process listens on the port; it may be somebody's healthy run, so do not end it",
		"names the other process", "a listener on the port is shown", "ss -ltnp", 30, 0.9)
	otherPort = failure.Change("Start with another rendezvous port (torchrun --rdzv-endpoint=localhost:0 takes a free one; or set MASTER_PORT)",
		"removes the conflict", "all ranks join; 50 steps pass", 60, 0.92, 0.98)
	resolve = failure.Look("Resolve the host name on every node; a name of digits only is taken for an address",
		"shows what the ranks try to reach", "the result is missing or is not an address of that host", "getent ahosts \"$(hostname)\"", 30, 0.8)
	listInterfaces = failure.Look("List the interfaces and addresses of each host and compare them with NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME",
		"shows which interface joins the hosts", "the name that was set does not exist, or another interface carries the cluster network", "ip -br addr", 60, 0.8)
	setInterface = failure.Change("Set NCCL_SOCKET_IFNAME (and GLOO_SOCKET_IFNAME) to the interface that joins the hosts, on every rank",
		"the ranks connect", "the log of NCCL_DEBUG=INFO names that interface; 50 steps pass", 300, 0.8, 0.95)
	ibState = failure.Look("Read the state of the adapters, links and GIDs on both hosts",
		"tells a link that is down from a GID that cannot be routed", "a port is not active, or the GID index differs", "ibstat; show_gids", 120, 0.75)
	setGID = failure.Change("Set NCCL_IB_GID_INDEX to the routable RoCE v2 GID and NCCL_IB_HCA to the adapters that are cabled alike",
		"transfers between the hosts work", "an all-reduce test between the two hosts passes; 200 steps pass", 600, 0.7, 0.95)
	tcpInstead = failure.Change("Set NCCL_IB_DISABLE=1 to use TCP until the fabric is repaired",
		"gets the run going, much slower between hosts", "200 steps pass", 300, 0.75, 0.6)
	shmSize = failure.Change("Give the container more shared memory (docker --shm-size=16g or --ipc=host; kubernetes: an emptyDir with medium Memory at /dev/shm)",
		"removes the failure", "df shows the new size; 50 steps pass", 300, 0.9, 0.98)
	shmLook = failure.Look("Look at the size and use of /dev/shm inside the container", "shows that it is small or full", "it has less than 1 GB free", "df -h /dev/shm", 30, 0.85)
	gpuLook = failure.Look("Read the state of the GPUs and the kernel log", "tells memory, driver and hardware apart", "a GPU shows an error or is full",
		"nvidia-smi; dmesg -T | grep -i NVRM | tail -n 20", 60, 0.7)
	noPeer     = failure.Change("Repeat with NCCL_P2P_DISABLE=1, or NCCL_NVLS_ENABLE=0 if the error names NVLS", "avoids the path that failed, slower", "200 steps pass", 300, 0.55, 0.7)
	setDevice  = failure.Change("Choose the device by local rank (torch.cuda.set_device(local_rank)) and start as many ranks as there are GPUs", "each rank has its own GPU", "all ranks join; 50 steps pass", 300, 0.85, 0.95)
	findUnused = failure.Change("Set find_unused_parameters=True, or take the parameters without part in the loss out of the model (TORCH_DISTRIBUTED_DEBUG=DETAIL names them)",
		"removes the failure", "200 steps pass", 600, 0.8, 0.95)
)
