package evalmismatch

import (
	"fmt"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
)

// boxesAgainstMasks compares the average precision of boxes and masks of one
// evaluation: the same detections cannot be good in one and nothing in the other.
func boxesAgainstMasks(f *casefile.File) []failure.Sighting {
	of := map[string]*casefile.Event{}
	kind := ""
	for _, e := range f.Events {
		switch e.Sign.ID {
		case "coco-annotation-type":
			if kind = e.Groups["type"]; of[kind] != nil {
				clear(of) // the next evaluation
			}
		case "coco-ap":
			if kind != "" {
				of[kind] = e
			}
		}
	}
	box, mask := of["bbox"], of["segm"]
	if box == nil || mask == nil {
		return nil
	}
	a, ok1 := value(box)
	b, ok2 := value(mask)
	low, high := box, mask
	if a > b {
		low, high, a, b = mask, box, b, a
	}
	if !ok1 || !ok2 || a < 0 || a > 0.005 || b < 0.15 {
		return nil
	}
	return told(0.75, "two-ways", low.Step, low, fmt.Sprintf("Of the same detections the average precision is %s for one kind of annotation and %s for the other: the ground truth of one is in another format.", low.Groups["value"], high.Groups["value"]), high.Ref)
}

// yoloFindsNothing: the losses of a detector fell, and precision, recall and mAP
// are exactly 0 to the end of the run.
func yoloFindsNothing(f *casefile.File) []failure.Sighting {
	ap, box := f.Series("mAP50"), f.Series("box")
	m := f.Main()
	if !ap.Finite() || !box.Finite() || box.NonFinite > 0 || m == nil || ap.Max.Value != 0 || ap.Count < 5 {
		return nil
	}
	p := m.Progress()
	if !p.Completed && p.Epoch < 20 || box.Last.Value > 0.1 && box.Last.Value > 0.7*box.First.Value {
		return nil
	}
	return found(0.62, "two-ways", ap.Last, f, fmt.Sprintf("Precision, recall and mAP are 0 in all of %d evaluations to the end while the box loss is %.4g.", ap.Count, box.Last.Value), ap.First.Ref)
}

// recallWithoutPrecision: the boxes are found, and the average precision of every
// class is exactly 0.
func recallWithoutPrecision(f *casefile.File) []failure.Sighting {
	best := 0.0
	for _, e := range f.EventsOf("detector-recall") {
		if v, ok := value(e); ok {
			best = max(best, v)
		}
	}
	aps := f.EventsOf("class-ap")
	if best < 0.3 || len(aps) < 4 {
		return nil
	}
	for _, e := range aps {
		if v, ok := value(e); !ok || v != 0 {
			return nil
		}
	}
	return told(0.75, "two-ways", -1, aps[0], fmt.Sprintf("Recall is %.3f and the average precision of every class exactly 0: the metric does not match classes or boxes with the ground truth.", best))
}

// ownAgainstCOCO: the trainer's own average precision is good and pycocotools finds
// nothing in the same predictions: ids of categories or images do not meet.
func ownAgainstCOCO(f *casefile.File) []failure.Sighting {
	own := f.Series("mAP50")
	if !own.Finite() || own.Last.Value < 0.2 {
		return nil
	}
	for _, e := range f.EventsOf("coco-ap") {
		v, ok := value(e)
		if !ok || v < 0 || v > 0.1*own.Last.Value || strings.Contains(e.Text, "bbox_mAP") {
			continue
		}
		return told(0.76, "ids-differ", e.Step, e, fmt.Sprintf("pycocotools gives an AP50 of %.3g where the trainer's own metric is %.3g.", v, own.Last.Value), own.Last.Ref)
	}
	return nil
}
