package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

func TestScheduleOver(t *testing.T) {
	log := func(format string, lr func(i int) float64) string {
		var b strings.Builder
		for i := 1; i <= 60; i++ {
			fmt.Fprintf(&b, "step %d/1200 | loss %.4f | lr "+format+"\n", i*20, 2-0.01*float64(i), lr(i))
		}
		return b.String()
	}
	for _, c := range []struct {
		name, log string
		want      int
	}{
		{"zero after a sixth", log("%.6g", func(i int) float64 { return 2.137e-5 * max(0, 1-float64(i)/10) }), 1},
		{"zero at the end", log("%.6g", func(i int) float64 { return 2.137e-5 * max(0, 1-float64(i)/60) }), 0},
		{"four decimals round to zero", log("%.4f", func(i int) float64 { return 3e-4 * max(0, 1-float64(i)/60) }), 0},
		{"warm-up from zero", log("%.6g", func(i int) float64 { return 2.137e-5 * float64(i) / 60 }), 0},
		{"never anything else", log("%.6g", func(int) float64 { return 0 }), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failuretest.Run(t, report.Config, "schedule-over", failuretest.File(t, c.log)); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}

func TestRateIsZero(t *testing.T) {
	log := func(lr string) string {
		var b strings.Builder
		for i := 1; i <= 40; i++ {
			fmt.Fprintf(&b, "step %d/1200 | loss %.4f | lr %s\n", i*20, 2+0.001*float64(i%3), lr)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, log string
		want      int
	}{
		{"exactly zero", log("0.0"), 1},
		{"in scientific form", log("0.000e+00"), 1},
		{"four decimals round a small rate", log("0.0000"), 0},
		{"a rate", log("1e-5"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failuretest.Run(t, report.Config, "learning-rate-zero", failuretest.File(t, c.log)); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}

func TestRoundsUnused(t *testing.T) {
	log := func(rounds int) string {
		b := "Parameters: { \"n_estimators\" } are not used.\n"
		for i := range rounds {
			b += fmt.Sprintf("[%d]\ttrain-logloss:%.5f\tvalid-logloss:%.5f\n", i, 0.69-0.01*float64(i), 0.69-0.009*float64(i))
		}
		return b
	}
	for rounds, want := range map[int]int{10: 1, 400: 0} {
		if got := failuretest.Run(t, report.Config, "rounds-unused", failuretest.File(t, log(rounds))); len(got) != want {
			t.Errorf("%d rounds: want %d sightings, got %+v", rounds, want, got)
		}
	}
}
