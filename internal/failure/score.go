package failure

import "strings"

// PoorScore reports whether a metric's name is that of a score of predictions
// (accuracy, F1, BLEU, an error rate …) and whether its value is no good one:
// what saturates at the top may stand still.
func PoorScore(name string, value float64) bool {
	n := strings.ToLower(strings.NewReplacer(" ", "_", "-", "_", "/", "_", ".", "_").Replace(name))
	for w := range strings.SplitSeq(n, "_") {
		switch w {
		case "wer", "cer", "ter":
			return value >= 0.9 && value < 3 || value >= 90
		case "accuracy", "acc", "f1", "bleu", "auc", "mcc", "em", "map", "iou", "miou", "rouge1", "rougel":
			return value > 0 && (value < 0.75 || value > 1 && value < 75)
		}
	}
	return strings.HasSuffix(n, "accuracy") && value > 0 && (value < 0.75 || value > 1 && value < 75)
}
