package evalmismatch

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{Name: "eval-never-improved", Doc: "Training accuracy is high and evaluation accuracy never left its first level.", Run: neverImproved},
	{Name: "eval-below-chance", Doc: "Evaluation accuracy is far below what guessing gives: labels are permuted.", Run: belowChance},
	{Name: "eval-collapsed", Doc: "The evaluation loss multiplied while the training loss fell.", Run: collapsed},
	{Name: "eval-constant-length", Doc: "Every generated text has the same length: the generation limit cuts them.", Run: constantLength},
	{Name: "eval-too-perfect", Doc: "The test metric is perfect and another evaluation of the same model is not.", Run: tooPerfect},
	{Name: "eval-stuck-at-floor", Doc: "A score sits at its floor in every evaluation while the losses fall.", Run: stuckMetric},
	{Name: "eval-report-contradicts", Doc: "A classification report contradicts the accuracy of the same run.", Run: reportContradicts},
	{Name: "eval-perfect-too-early", Doc: "Evaluation is perfect from the start while training is not.", Run: perfectTooEarly},
	{Name: "eval-no-chat-template", Doc: "A chat model was scored on bare prompts and scores nothing.", Run: untemplated},
	{Name: "eval-ap-stays-zero", Doc: "COCO average precision is 0 in every evaluation while the training loss falls.", Run: apStaysZero},
	{Name: "eval-iou-stays-zero", Doc: "Mean IoU is nothing in every evaluation while training pixel accuracy is high.", Run: iouStaysZero},
	{Name: "eval-perplexity-off", Doc: "A harness reports a perplexity a thousand times that of the run.", Run: perplexityOff},
	{Name: "eval-protocols-differ", Doc: "A ranking metric is several times higher in validation than in the test.", Run: protocolsDiffer},
	{Name: "eval-filters-disagree", Doc: "Two filters of one harness disagree on the same answers: nothing under the strict one, plenty under the other.", Run: filtersDisagree},
	{Name: "eval-backtest-contradicts", Doc: "R2 is high in validation and gone in a backtest or test of the same model.", Run: backtestContradicts},
	{Name: "eval-impossible-score", Doc: "A score that no sane scoring gives: an equal error rate above one half, an AUC far below it.", Run: impossible},
	{Name: "eval-other-file-disagrees", Doc: "A log that only evaluates gives the same score a tenth lower than the training run.", Run: otherFileDisagrees},
	{Name: "eval-same-score", Doc: "A score is the same number in every evaluation though training goes on to learn.", Run: sameScore},
	{Name: "eval-opposes-loss", Doc: "A score gets worse in nearly every evaluation while the evaluation loss falls.", Run: opposed},
	{Name: "eval-lost", Doc: "Evaluation accuracy had been better and is one and the same low number in the last evaluations while training goes on well.", Run: evalLost},
	{Name: "eval-far-from-training", Doc: "Training knows its data by heart and the evaluation is at the bottom with a loss a hundred times as large.", Run: farFromTraining},
	{Name: "eval-boxes-against-masks", Doc: "Average precision is nothing for boxes and good for masks of the same detections, or the other way round.", Run: boxesAgainstMasks},
	{Name: "eval-finds-nothing", Doc: "A detector's losses fell and its precision, recall and mAP are 0 to the end.", Run: yoloFindsNothing},
	{Name: "eval-recall-without-precision", Doc: "Recall is high and the average precision of every class exactly 0.", Run: recallWithoutPrecision},
	{Name: "eval-auc-over-one", Doc: "An area under a curve is larger than 1.", Run: overOne},
	{Name: "eval-perfect-and-not", Doc: "A perfect F1 and a poor average precision of the same scores.", Run: perfectAndNot},
	{Name: "eval-one-token-each", Doc: "BLEU is 0 and each sentence was scored as one token.", Run: oneTokenEach},
	{Name: "eval-worse-when-loaded", Doc: "The accuracy of a model that was loaded again is a third below that of the process that trained it.", Run: worseWhenLoaded},
	{Name: "eval-padded-right", Doc: "Generated texts score badly, their prompts were padded on the right and the loss is good.", Run: paddedRight},
	{Name: "eval-no-ground-truth", Doc: "The evaluation of boxes has nothing to compare with while training has boxes.", Run: noGroundTruth},
	{Name: "eval-own-against-coco", Doc: "The trainer's own average precision is good and pycocotools finds nothing in the same predictions.", Run: ownAgainstCOCO},
	{Name: "eval-leaks", Doc: "An area under the curve is all but perfect in validation and poor on other data.", Run: leaks},
	{Name: "eval-decodes-another", Doc: "A recogniser with a good validation accuracy gets hardly a word right when it decodes.", Run: decodesAnother},
	{Name: "eval-return-lost", Doc: "A trained policy that is played gets less than a fifth of the return of its training episodes.", Run: returnLost},
	{Name: "train-test-duplicates", Doc: "Files of the training and the test set are byte-identical.", Run: duplicates},
}

// found is what a point of a series proves; also are further lines of the proof.
func found(w float64, cause string, p run.Point, f *casefile.File, says string, also ...run.Ref) []failure.Sighting {
	return seen(w, cause, p, f.TextAt(p.Ref), says, also)
}

// told is what a line that a signature knows proves.
func told(w float64, cause string, step int64, e *casefile.Event, says string, also ...run.Ref) []failure.Sighting {
	return seen(w, cause, run.Point{Step: step, Ref: e.Ref}, e.Text, says, also)
}

func seen(w float64, cause string, p run.Point, text, says string, also []run.Ref) []failure.Sighting {
	return []failure.Sighting{{
		Type: report.AnomalyLogError, Severity: report.High, Role: report.RoleCause, Weight: w, Cause: cause, Rank: run.NoRank,
		Step: p.Step, Ref: p.Ref, Text: text, Also: also, Says: says, Status: report.Degraded,
	}}
}

// neverImproved needs three evaluations, a training accuracy above 0.8 and an
// evaluation accuracy that stayed where it began, half of the scale below.
func neverImproved(f *casefile.File) []failure.Sighting {
	train, eval := fraction(f.Series("accuracy")), fraction(f.Series("eval_accuracy"))
	if train == nil || eval == nil || eval.Count < 3 || !train.Finite() || !eval.Finite() {
		return nil
	}
	gain := eval.Max.Value - eval.First.Value
	if train.Max.Value < 0.8 || train.Max.Value-eval.Last.Value < 0.45 || gain > 0.05+0.3*eval.First.Value {
		return nil
	}
	w := 0.7
	if eval.Max.Value < 0.2 {
		w = 0.82
	}
	return found(w, "two-ways", eval.Last, f, fmt.Sprintf("Training accuracy reached %.3f while evaluation accuracy stayed between %.3f and %.3f from the first evaluation on.", train.Max.Value, eval.Min.Value, eval.Max.Value), eval.First.Ref)
}

// fraction drops a series that is not on the scale 0..1 (or brings per cent to it).
func fraction(s *run.Series) *run.Series {
	if s == nil || !s.Finite() {
		return nil
	}
	if s.Max.Value <= 1.0001 {
		return s
	}
	if s.Max.Value > 100.01 {
		return nil
	}
	t := *s
	for _, p := range []*run.Point{&t.First, &t.Last, &t.Min, &t.Max} {
		p.Value /= 100
	}
	return &t
}

// belowChance needs the number of classes.
func belowChance(f *casefile.File) []failure.Sighting {
	acc := fraction(f.Series("eval_accuracy"))
	n := classes(f)
	if f.Task != "" && f.Task != "classification" || acc == nil || n < 2 || n > 10 {
		return nil
	}
	chance := 1 / float64(n)
	if acc.Max.Value > chance*0.5 || acc.Count < 1 {
		return nil
	}
	w := 0.7
	if f.Has("label-map-ignored") || f.Has("label-order-printed") || acc.Count > 1 {
		w = 0.82
	}
	return found(w, "labels-permuted", acc.Last, f, fmt.Sprintf("Evaluation accuracy is at most %.3f with %d classes, far below the %.3f of guessing: the model knows the classes under other ids.", acc.Max.Value, n, chance))
}

func classes(f *casefile.File) int {
	for _, key := range []string{"config.num_labels", "config.num_classes", "config.nc", "labels.count"} {
		if n, err := strconv.Atoi(f.Value(key)); err == nil {
			return n
		}
	}
	if v := f.Value("labels.list"); v != "" {
		return 1 + strings.Count(v, ",")
	}
	return 0
}

// collapsed: evaluation loss at least 4 times its best and climbing, training
// loss down by a third over the same time, evaluation accuracy lost as well.
func collapsed(f *casefile.File) []failure.Sighting {
	train, eval, acc := f.Series("loss"), f.Series("eval_loss"), fraction(f.Series("eval_accuracy"))
	if train == nil || eval == nil || acc == nil || eval.Count < 4 || !train.Finite() || !eval.Finite() || !acc.Finite() {
		return nil
	}
	lost := acc.Max.Value - acc.Last.Value
	if eval.Last.Value < 4*eval.Min.Value || train.Last.Value > 0.67*train.First.Value || lost < 0.3 || acc.Last.Value > 0.6*acc.Max.Value {
		return nil
	}
	return found(0.6, "two-ways", eval.Last, f, fmt.Sprintf("The evaluation loss rose from %.4g to %.4g and accuracy fell from %.3f to %.3f while the training loss fell to %.4g.", eval.Min.Value, eval.Last.Value, acc.Max.Value, acc.Last.Value, train.Last.Value))
}

// constantLength: default generation limits are round (20, 128, ...), real texts vary.
func constantLength(f *casefile.File) []failure.Sighting {
	for _, name := range []string{"eval_gen_len", "gen_len", "predict_gen_len"} {
		s := f.Series(name)
		if s == nil || s.Count < 2 || s.Min.Value != s.Max.Value || s.Min.Value != math.Trunc(s.Min.Value) || s.Min.Value < 5 {
			continue
		}
		w := 0.6
		if s.Min.Value == 20 {
			w = 0.82
		}
		return found(w, "generation-limit", s.First, f, fmt.Sprintf("Every evaluation generated exactly %.0f tokens on average: the generation limit cuts every text.", s.Min.Value))
	}
	return nil
}

// tooPerfect needs a second evaluation that contradicts the perfect one.
func tooPerfect(f *casefile.File) []failure.Sighting {
	acc := fraction(f.Series("eval_accuracy"))
	if acc == nil || !acc.Finite() || acc.Last.Value < 0.995 {
		return nil
	}
	for _, e := range f.EventsOf("accuracy-line") {
		v, err := strconv.ParseFloat(e.Groups["value"], 64)
		if v > 1 {
			v /= 100
		}
		if err == nil && e.Ref.File != acc.Last.Ref.File && v < acc.Last.Value-0.08 && v > 0 {
			return found(0.8, "leakage", acc.Last, f, fmt.Sprintf("The test accuracy is %.4f, but another evaluation of the model (%s) reaches %.4f.", acc.Last.Value, run.Name(e.Ref.String()), v), e.Ref)
		}
	}
	return nil
}

// duplicates reads checksum listings: the same sum in a training and a test folder.
func duplicates(f *casefile.File) []failure.Sighting {
	type file struct {
		ref  run.Ref
		text string
	}
	for _, s := range f.Streams {
		train, n := map[string]file{}, 0
		var first, second file
		for _, pass := range []bool{true, false} {
			for l := range s.Kept {
				sum, path, ok := checksum(l.Text)
				if !ok {
					continue
				}
				low := strings.ToLower(path)
				isTest := strings.Contains(low, "test") || strings.Contains(low, "val") || strings.Contains(low, "eval")
				switch {
				case pass && strings.Contains(low, "train") && !isTest:
					train[sum] = file{l.Ref, l.Text}
				case !pass && isTest:
					if t, dup := train[sum]; dup {
						if n == 0 {
							first, second = file{l.Ref, l.Text}, t
						}
						n++
					}
				}
			}
		}
		if n == 0 {
			continue
		}
		return []failure.Sighting{{
			Type: report.AnomalyLogError, Severity: report.High, Role: report.RoleCause, Weight: 0.85, Cause: "leakage", Rank: run.NoRank, Step: -1,
			Ref: first.ref, Text: first.text, Also: []run.Ref{second.ref}, Status: report.Degraded,
			Says: fmt.Sprintf("%d test files are byte-identical to training files.", n),
		}}
	}
	return nil
}

func checksum(line string) (sum, path string, ok bool) {
	sum, path, ok = strings.Cut(strings.TrimSpace(line), " ")
	if !ok || len(sum) < 32 || len(sum) > 128 || strings.Trim(sum, "0123456789abcdefABCDEF") != "" {
		return "", "", false
	}
	return strings.ToLower(sum), strings.TrimLeft(path, " *"), true
}
