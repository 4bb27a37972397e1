package nccl

import (
	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

var causes = []failure.Cause{
	{
		Name:  "rank-missing",
		Root:  "A rank did not come to a collective that the others waited in. Nothing that was read shows that rank's own error; its log, from before the timeout, holds the reason.",
		Fixes: []report.Fix{allRankLogs, debugRun, stackDump},
	},
	{
		Name:  "ranks-did-not-start",
		Root:  "Fewer ranks joined than the world size says: some were never started, or could not reach the rendezvous.",
		When:  tooFewJoined,
		Fixes: []report.Fix{countRanks, launchAll, allRankLogs},
	},
	{
		Name:  "collective-mismatch",
		Root:  "The ranks did not issue the same collectives with the same shapes: data, branches or models differ between ranks, so that they wait for each other in different places.",
		Fixes: []report.Fix{debugCollectives, samePath, allRankLogs},
	},
	{
		Name:  "master-unreachable",
		Root:  "A rank could not connect to the address and port where the ranks meet: the host does not listen there (yet), or the address or port cannot be reached from this rank.",
		Fixes: []report.Fix{probeMaster, rightAddress, allRankLogs},
	},
	{
		Name:  "port-busy",
		Root:  "The rendezvous port on this host is already taken by another process: often another training run that uses the same default port.",
		Fixes: []report.Fix{whoHasPort, otherPort},
	},
	{
		Name:  "name-resolution",
		Root:  "A host name that the ranks need does not resolve to an address that they can reach.",
		When:  numericHost,
		Fixes: []report.Fix{resolve, rightAddress},
	},
	{
		Name:  "wrong-interface",
		Root:  "The communication library found no usable network interface, or chose one that the other hosts cannot reach.",
		Fixes: []report.Fix{listInterfaces, setInterface},
	},
	{
		Name:  "ib-fabric",
		Root:  "A transfer over InfiniBand or RoCE failed: the link, the GID or routing between the two adapters does not work, or the far side went away.",
		Fixes: []report.Fix{ibState, setGID, tcpInstead},
	},
	{
		Name:  "shm-too-small",
		Root:  "The ranks of one host exchange data through /dev/shm, and there was not enough of it.",
		Fixes: []report.Fix{shmSize, shmLook},
	},
	{
		Name:  "cuda-inside-nccl",
		Root:  "A CUDA call inside the communication library failed; the reason lies with the GPU, its memory or its driver, not with the network.",
		Fixes: []report.Fix{debugRun, gpuLook, noPeer},
	},
	{
		Name:  "duplicate-gpu",
		Root:  "Two ranks chose the same GPU: the local rank is not used to choose the device, or more ranks than GPUs were started.",
		Fixes: []report.Fix{setDevice, countRanks},
	},
	{
		Name:  "nccl-usage",
		Root:  "The communication library was used in a way that it refuses; its own warning before the error says which.",
		Fixes: []report.Fix{debugRun, setDevice},
	},
	{
		Name:  "ddp-unused-parameters",
		Root:  "The gradients that DistributedDataParallel waits for do not match those that the backward pass made: parameters without part in the loss, or used twice.",
		Fixes: []report.Fix{findUnused, samePath},
	},
	{
		Name:  "network-fabric",
		Root:  "The ranks could not communicate: the communication library reports an error of its network or system calls.",
		Fixes: []report.Fix{debugRun, listInterfaces, allRankLogs},
	},
}

// tooFewJoined compares the world with the ranks that joined.
func tooFewJoined(f *casefile.File) (float64, []casefile.Evidence) {
	joined, ok := f.Fact("dist.joined")
	if !ok || joined.Value == "" || joined.Value == f.Value("dist.world_size") {
		return 0, nil
	}
	return 0.75, []casefile.Evidence{{Ref: joined.From, Rank: -1, Text: joined.Value + " of " + f.Value("dist.world_size") + " ranks had joined"}}
}

// numericHost sees a host name of digits only, which resolvers take for an address.
func numericHost(f *casefile.File) (float64, []casefile.Evidence) {
	v, ok := f.Fact("dist.master")
	if !ok || v.Value == "" {
		return 0, nil
	}
	for i, c := range v.Value {
		if c == ',' && i > 3 {
			return 0.8, []casefile.Evidence{{Ref: v.From, Rank: -1, Text: "the host name consists of digits only: " + v.Value}}
		}
		if c < '0' || c > '9' {
			break
		}
	}
	return 0, nil
}
