package nccl

import (
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// flown is what each kind of finding in the flight recorders' dumps means.
var flown = map[string]struct {
	weight float64
	role   report.Role
	cause  string
}{
	"missing":  {0.9, report.RoleSymptom, "rank-missing"},
	"mismatch": {0.88, report.RoleCause, "collective-mismatch"},
	"absent":   {0.8, report.RoleSymptom, "rank-missing"},
	"fabric":   {0.7, report.RoleCause, "network-fabric"},
}

// flightRecorder takes what the dumps of PyTorch's flight recorder show. That
// ranks did not come is a symptom of what befell them.
func flightRecorder(f *casefile.File) []failure.Sighting {
	kind, ok := f.Fact("flight.kind")
	means, known := flown[kind.Value]
	if !ok || !known {
		return nil
	}
	rank := run.NoRank
	if first, _, _ := strings.Cut(f.Value("flight.ranks"), ","); first != "" {
		if n, err := strconv.Atoi(first); err == nil {
			rank = n
		}
	}
	return []failure.Sighting{{
		Type: report.AnomalyDistributedError, Severity: report.Blocker, Role: means.role, Weight: means.weight, Cause: means.cause,
		Rank: rank, Step: -1, Ref: kind.From, Text: f.Value("flight.says"), Says: f.Value("flight.says"), Status: report.Hung,
		YieldsTo: []report.Class{report.OOM, report.DataPipeline, report.CUDA, report.Config, report.IOCheckpoint},
	}}
}
