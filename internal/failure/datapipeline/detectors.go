package datapipeline

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

var detectors = []failure.Detector{
	{Name: "label-column", Doc: "With --target: the label column holds ids out of range, missing labels or a single class.", Run: labelColumn},
	{
		Name: "exception-in-data-code",
		Doc:  "An exception that no signature knows, raised inside code that reads, transforms or batches data.",
		Run:  dataExceptions,
	},
	{
		Name: "nearly-all-filtered",
		Doc:  "Nearly all samples of the training data were filtered out before training.",
		Run:  nearlyAllFiltered,
	},
	{
		Name: "labels-unseen",
		Doc:  "Nearly all training images count as background while those of the validation have labels.",
		Run:  labelsUnseen,
	},
	{
		Name: "annotations-lost",
		Doc:  "Annotated spans were left out because no token begins where they do, and the score stays at nothing.",
		Run:  annotationsLost,
	},
	{
		Name: "labels-alike",
		Doc:  "The training score is perfect from the first reading on, at a loss that is not small yet.",
		Run:  nothingToLearn,
	},
	{
		Name: "input-ended-early",
		Doc:  "The input ran out and training did not go on after it.",
		Run:  inputEnded,
	},
}

var (
	// innerFrames are places of data code: the exception passed through them on
	// its way out, so it was raised while a sample was read or batched.
	innerFrames = regexp.MustCompile(`(?i)torch/utils/data/_utils|__getitem__|collat|[/_]dataset\w*\.py|/datasets?/|dataload\w*\.py|webdataset|tensorflow_datasets|pandas/|pyarrow/|augment\w*\.py|transforms?(/|\.py)|tokenize_|preprocess\w*(\.py|:)`)
	notData     = regexp.MustCompile(`(?i)load_state_dict|load_checkpoint|save_checkpoint|from_pretrained|argparse|omegaconf|hydra|importlib|torch/serialization`)
	notDataType = regexp.MustCompile(`(?i)memory|keyboardinterrupt|systemexit|import|modulenotfound|connection|timeout|permission|cuda|nccl|queue|stopiteration|generatorexit|brokenpipe|eoferror|processraised|calledprocess`)
	notDataWord = regexp.MustCompile(`(?i)worker.*(killed|exit)|signal|bus error|shared memory|segmentation|out of memory|cuda|nccl|timed? ?out`)
)

// dataExceptions sees the exceptions that only their frames explain.
func dataExceptions(f *casefile.File) []failure.Sighting {
	var out []failure.Sighting
	for _, t := range f.Tracebacks {
		if t.Known != nil || f.TracebackRecovered(t) || notDataType.MatchString(t.Type) || notDataWord.MatchString(t.Message) {
			continue
		}
		if !t.InFrames(innerFrames) || t.InFrames(notData) {
			continue
		}
		out = append(out, failure.Sighting{
			Type: report.AnomalyDataError, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.55, Cause: "bad-sample",
			Rank: t.Rank, Step: t.Step, Ref: t.Ref, Text: oneLine(t),
			Says:     fmt.Sprintf("%s was raised in code that reads or batches the data.", t.Type),
			YieldsTo: []report.Class{report.OOM, report.CUDA, report.Config, report.IOCheckpoint},
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

// inputEnded sees an input that ran out before the asked number of steps. Keras
// 3 warns once about every finite input: then training goes on.
func inputEnded(f *casefile.File) []failure.Sighting {
	events := f.EventsOf("tf-input-ran-out")
	if len(events) == 0 {
		return nil
	}
	e := events[len(events)-1]
	if f.Recovered(e) && !idle(f) {
		return nil
	}
	return []failure.Sighting{{
		Type: report.AnomalyDataError, Severity: report.High, Role: report.RoleCause, Weight: 0.85, Cause: "input-ran-out",
		Rank: e.Rank, Step: e.Step, Ref: e.Ref, Text: e.Text, Status: report.Degraded,
		Says: "The input ended before the asked number of steps, so training stopped early.",
	}}
}

// idle reports whether the last epochs computed nothing: Keras prints a loss of
// exactly 0 for an epoch without a batch.
func idle(f *casefile.File) bool {
	loss := f.Series("loss")
	return loss != nil && loss.Count > 1 && loss.Last.Value == 0 && loss.Max.Value > 0
}
