package iocheckpoint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

func TestUnderOtherNames(t *testing.T) {
	keys := func(prefix string) string {
		var k []string
		for i := range 6 {
			k = append(k, fmt.Sprintf("%sbackbone.stem.%d.weight", prefix, i))
		}
		return strings.Join(k, ", ")
	}
	mm := func(unexpected, missing string) string {
		return "The model and loaded state dict do not match exactly\n\nunexpected key in source state_dict: " + unexpected + "\n\nmissing keys in source state_dict: " + missing + "\n"
	}
	for _, c := range []struct {
		name, log string
		want      int
	}{
		{"a distilled student", mm(keys("student."), keys("")), 1},
		{"a wrapper around the model that loads", mm(keys(""), keys("model.")), 1},
		{"a new head", mm("fc.weight, fc.bias", "decode_head.conv_seg.weight, decode_head.conv_seg.bias, decode_head.a.b.weight, decode_head.c.d.weight"), 0},
		{"a classifier over a language model", "Some weights of the model checkpoint at roberta were not used when initializing RobertaForX: ['lm_head.bias', 'lm_head.dense.weight']\nSome weights of RobertaForX were not initialized from the model checkpoint at roberta and are newly initialized: ['classifier.dense.bias', 'classifier.dense.weight']\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failuretest.Run(t, report.IOCheckpoint, "weights-under-other-names", failuretest.File(t, c.log)); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}

func TestResumedFresh(t *testing.T) {
	part := func(name string, from int, loss func(i int) float64) failuretest.Text {
		var b strings.Builder
		for i := range 20 {
			fmt.Fprintf(&b, "step %d loss %.4f lr 1e-4\n", from+100*i, loss(i))
		}
		return failuretest.Text{Name: name, Body: b.String()}
	}
	first := part("first.log", 72000, func(i int) float64 { return 1.6 + 0.01*float64(i%3) })
	for _, c := range []struct {
		name   string
		second failuretest.Text
		want   int
	}{
		{"nine times the loss", part("second.log", 74000, func(i int) float64 { return 9.9 - 0.2*float64(i) }), 1},
		{"the same loss", part("second.log", 74000, func(i int) float64 { return 1.6 }), 0},
		{"another run from step 0", part("second.log", 0, func(i int) float64 { return 9.9 - 0.2*float64(i) }), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failuretest.Run(t, report.IOCheckpoint, "resumed-with-fresh-weights", failuretest.Files(t, first, c.second)); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}
