package datapipeline_test

import (
	"fmt"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

func TestNearlyAllFiltered(t *testing.T) {
	for _, c := range []struct {
		name, log string
		want      int
	}{
		{"611 of 413,518 files are left", "Dataset loaded with 611 files totalling 0.08 hours\n412907 files were filtered totalling 1300000.00 hours\n", 1},
		{"a cleaning", "Dataset loaded with 412907 files totalling 700.20 hours\n611 files were filtered totalling 2.10 hours\n", 0},
		{"in one line", "kept 12 of 40,112 utterances, the rest was filtered by length\n", 1},
		{"detectron2 removes nearly all", "[11/04 09:10:12] d2.data.build INFO: Removed 9101 images with no usable annotations. 31 images left.\n", 1},
		{"detectron2 removes some", "[11/04 09:10:12] d2.data.build INFO: Removed 1021 images with no usable annotations. 117266 images left.\n", 0},
		{"a small set", "kept 1 of 40 utterances, the rest was filtered by length\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failuretest.Run(t, report.DataPipeline, "nearly-all-filtered", failuretest.File(t, c.log)); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}

func TestAnnotationsLost(t *testing.T) {
	const warned = "UserWarning: [W030] Some entities could not be aligned in the text \"10 boxes of lettuce\" with entities \"[(1, 3, 'QTY')]\".\n"
	table := func(score string) string {
		rows := "E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE \n---  ------  ------------  --------  ------  ------  ------  ------\n"
		for _, step := range []string{"200", "400", "600", "800"} {
			rows += "  2     " + step + "         16.94    226.87   " + score + "   " + score + "   " + score + "   " + score + "\n"
		}
		return rows
	}
	for _, c := range []struct {
		name, log string
		want      int
	}{
		{"all spans lost", warned + table(" 0.00"), 1},
		{"a few lost", warned + table("71.20"), 0},
		{"nothing learnt, nothing lost", table(" 0.00"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failuretest.Run(t, report.DataPipeline, "annotations-lost", failuretest.File(t, c.log)); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}

func TestLabelsUnseen(t *testing.T) {
	scan := func(split string, images, backgrounds int) string {
		return fmt.Sprintf("%s: Scanning /data/labels/%s... %d images, %d backgrounds, 0 corrupt: 100%%|##########| 8090/8090 [00:04<00:00, 1788.10it/s]\n", split, split, images, backgrounds)
	}
	for _, c := range []struct {
		name, log string
		want      int
	}{
		{"training labels are not found", scan("train", 388, 7702) + scan("val", 902, 11), 1},
		{"a data set of many backgrounds", scan("train", 388, 7702) + scan("val", 40, 790), 0},
		{"labelled", scan("train", 8000, 90) + scan("val", 902, 11), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failuretest.Run(t, report.DataPipeline, "labels-unseen", failuretest.File(t, c.log)); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}
