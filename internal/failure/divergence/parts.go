package divergence

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// partsBlowUp judges the parts of a loss where the log prints no sum of them: at
// least two of them must have left their best level for three times as much.
func partsBlowUp(f *casefile.File) []failure.Sighting {
	if s := f.Series("loss"); s != nil && s.Count >= minPoints || objectiveChanges(f) {
		return nil
	}
	var first *climb
	var names []string
	for _, s := range f.AllSeries() {
		if !isPart(s.Name) {
			continue
		}
		if v := rise(sinceRewind(s.Series), false); v != nil && v.end > 3*v.best {
			names = append(names, run.Name(s.Name))
			if first == nil {
				first = v
			}
		}
	}
	if len(names) < 2 {
		return nil
	}
	return found(f, first.onset, 0.78, "too-hot", report.Diverged, fmt.Sprintf("%s rose together, %s from %.4g to %.4g.", strings.Join(names, ", "), names[0], first.best, first.end), first.last.Ref)
}

// yoloParts are the columns of a detector's table that name no loss.
var yoloParts = map[string]bool{"box": true, "obj": true, "cls": true, "dfl": true}

func isPart(name string) bool {
	n := strings.ToLower(name)
	if yoloParts[n] {
		return true
	}
	return (strings.HasSuffix(n, "loss") || strings.Contains(n, "_loss") || strings.HasPrefix(n, "loss_")) && isLoss(n) && !strings.HasPrefix(n, "val")
}

// preferenceCollapse: in preference tuning the log-probability of the chosen
// answers must not leave its level by an order of magnitude, whatever the loss.
func preferenceCollapse(f *casefile.File) []failure.Sighting {
	s := firstOf(f, "rewards/chosen", "train/rewards/chosen")
	if !s.Finite() || s.Kept() < minPoints {
		return nil
	}
	v := s.Values()
	end := run.Median(v[len(v)-max(3, len(v)/10):])
	if end > -20 || end > 10*v[0] && v[0] < -1 {
		return nil
	}
	p := firstBelow(s, -20)
	return found(f, p, 0.75, "policy-drift", report.Degraded, fmt.Sprintf("%s fell from %.3g to %.3g: the policy gives up the chosen answers together with the rejected ones.", run.Name(s.Name), v[0], end), s.Last.Ref)
}

// firstBelow is the first point below a level.
func firstBelow(s *run.Series, level float64) run.Point {
	for _, p := range s.Points() {
		if p.Value < level {
			return p
		}
	}
	return s.Last
}

// qualityLost finds a picture quality (PSNR) that fell four decibels below its
// best and stayed there.
func qualityLost(f *casefile.File) []failure.Sighting {
	best, at := 0.0, 0
	events := f.EventsOf("psnr-line")
	values := make([]float64, len(events))
	for i, e := range events {
		values[i], _ = strconv.ParseFloat(e.Groups["value"], 64)
		if values[i] > best {
			best, at = values[i], i
		}
	}
	n := len(events)
	if n < 5 || at > n-3 || values[n-1] > best-4 || values[n-2] > best-3 || best > 80 {
		return nil
	}
	last := events[n-1]
	return []failure.Sighting{{
		Type: report.AnomalyDivergence, Severity: report.High, Role: report.RoleCause, Weight: 0.7, Cause: "too-hot", Rank: run.NoRank, Step: last.Step, Ref: last.Ref, Text: last.Text,
		Also: []run.Ref{events[at].Ref}, Status: report.Diverged, Says: fmt.Sprintf("PSNR fell from its best %.4g dB to %.4g dB and stayed there.", best, values[n-1]),
	}}
}
