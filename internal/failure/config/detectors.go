package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{
		Name: "exception-in-program",
		Doc:  "An exception of the program's own code that no signature knows, outside of data, checkpoint and device code.",
		Run:  programExceptions,
	},
	{
		Name: "schedule-over",
		Doc:  "The learning rate is 0 long before the end of the run: the schedule was given too few steps.",
		Run:  scheduleOver,
	},
	{
		Name: "rounds-unused",
		Doc:  "Boosting ended after the default number of rounds although another one was given, by a name that is not read.",
		Run:  roundsUnused,
	},
	{
		Name: "learning-rate-zero",
		Doc:  "Every learning rate is 0 from the first reading to the last.",
		Run:  rateIsZero,
	},
	{
		Name: "equal-looking-mismatch",
		Doc:  "Two values that a check calls different although they print alike: one is a string.",
		Run:  equalLooking,
	},
}

var (
	programTypes = regexp.MustCompile(`(?:^|\.)(ValueError|TypeError|AttributeError|KeyError|AssertionError|NotImplementedError|NameError|ImportError|ModuleNotFoundError|RuntimeError|IndexError|LookupError|Exception|SystemExit|ZeroDivisionError|RecursionError|\w*(Config|Argument|Validation|Usage|Setting|Option)\w*(Error|Exception))$`)
	otherPlaces  = regexp.MustCompile(`(?i)__getitem__|torch/utils/data/_utils|collat|[/_]datasets?[/.]|dataload|webdataset|save_checkpoint|load_checkpoint|torch/serialization|save_pretrained|safetensors|torch/distributed/(distributed_c10d|elastic)|urllib3|requests/|google/(api_core|cloud)|botocore|kfp/`)
	otherWords   = regexp.MustCompile(`(?i)cuda|cudnn|cublas|nccl|gloo|out of memory|\bnan\b|\binf\b|timed? ?out|connection|no space left|invalid numeric|non-?finite|infinite|infeasible|worker .* (killed|exited)|checkpoint`)
)

// programExceptions sees exceptions of the program's own code; the earlier one
// was raised the surer it is the configuration.
func programExceptions(f *casefile.File) []failure.Sighting {
	var out []failure.Sighting
	for _, t := range f.Tracebacks {
		if t.Known != nil || f.TracebackRecovered(t) || !programTypes.MatchString(t.Type) || t.InFrames(otherPlaces) || otherWords.MatchString(t.Message) {
			continue
		}
		weight, says := 0.5, "%s was raised in the program's own code."
		if t.Step < 1 {
			weight, says = 0.58, "%s was raised before the first training step, in code that sets up the run."
		}
		out = append(out, failure.Sighting{
			Type: report.AnomalyCrash, Severity: report.Blocker, Role: report.RoleCause, Weight: weight, Cause: "code-error",
			Rank: t.Rank, Step: t.Step, Ref: t.Ref, Text: oneLine(t), Says: fmt.Sprintf(says, t.Type),
			YieldsTo: []report.Class{report.OOM, report.CUDA, report.NCCL, report.DataPipeline, report.IOCheckpoint, report.Crash, report.Pipeline, report.CloudQuota, report.NaNInf},
		})
	}
	return out
}

func oneLine(t *casefile.Traceback) string {
	m, _, _ := strings.Cut(t.Message, "\n")
	if m == "" {
		return t.Type
	}
	return t.Type + ": " + m
}

// equalLooking sees "ds x=16 vs hf x=16".
func equalLooking(f *casefile.File) []failure.Sighting {
	var out []failure.Sighting
	for _, e := range f.EventsOf("deepspeed-mismatch-value") {
		if e.Groups["ds"] == "" || e.Groups["ds"] != e.Groups["hf"] || f.Recovered(e) {
			continue
		}
		out = append(out, failure.Sighting{
			Type: report.AnomalyCrash, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.95, Cause: "string-number",
			Rank: e.Rank, Step: e.Step, Ref: e.Ref, Text: e.Text,
			Says: fmt.Sprintf("%s is %s on both sides and still differs: one of them is a string.", run.Name(e.Groups["key"]), run.Name(e.Groups["ds"])),
		})
	}
	return out
}

// stringNumber is the evidence that a number is a string in a config file.
func stringNumber(f *casefile.File) (float64, []casefile.Evidence) {
	key := f.Value("deepspeed.mismatch")
	if key == "" || f.Value("deepspeed.mismatch.ds") != f.Value("deepspeed.mismatch.hf") {
		return 0, nil
	}
	for _, v := range f.Facts {
		if strings.HasSuffix(v.Key, "."+key+"#type") && v.Value == "string" {
			return 0.95, []casefile.Evidence{{Ref: v.From, Rank: run.NoRank, Text: key + " is a string here"}}
		}
	}
	return 0.8, nil
}

// preAmpere is the evidence that the GPU is too old for bfloat16, tf32 and
// FlashAttention 2.
func preAmpere(f *casefile.File) (float64, []casefile.Evidence) {
	v, ok := f.Fact("gpu.pre_ampere")
	if !ok {
		return 0, nil
	}
	return 0.3, []casefile.Evidence{{Ref: v.From, Rank: run.NoRank, Text: v.Value}}
}

// moreProcessesThanDevices is the evidence that more processes than visible
// GPUs were started.
func moreProcessesThanDevices(f *casefile.File) (float64, []casefile.Evidence) {
	devices, okDevices := f.Fact("gpu.visible")
	procs, okProcs := f.Fact("launch.processes")
	n, err := strconv.Atoi(procs.Value)
	if !okDevices || !okProcs || err != nil || n <= strings.Count(devices.Value, ",")+1 {
		return 0, nil
	}
	return 0.3, []casefile.Evidence{
		{Ref: procs.From, Rank: run.NoRank, Text: procs.Value + " processes per node"},
		{Ref: devices.From, Rank: run.NoRank, Text: "visible GPUs: " + devices.Value},
	}
}
