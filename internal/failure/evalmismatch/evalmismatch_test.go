package evalmismatch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

// epochs writes Keras-like epoch lines.
func epochs(n int, acc, valLoss, valAcc func(i int) float64) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "Epoch %d/%d\n100/100 [==============================] - 9s 90ms/step - loss: %.4f - accuracy: %.4f - val_loss: %.4f - val_accuracy: %.4f\n", i, n, 2/float64(i), acc(i), valLoss(i), valAcc(i))
	}
	return b.String()
}

func rising(i int) float64 { return 1 - 0.6/float64(i) }

func level(v float64) func(int) float64 { return func(int) float64 { return v } }

// wer writes evaluations of a recogniser.
func wer(rate, loss func(i int) float64) string {
	var b strings.Builder
	for i := 1; i <= 7; i++ {
		fmt.Fprintf(&b, "{'loss': %.4f, 'epoch': %d.0}\n{'eval_loss': %.4f, 'eval_wer': %.2f, 'epoch': %d.0}\n", loss(i), i, loss(i), rate(i), i)
	}
	return b.String()
}

// coco writes the end of one evaluation.
func coco(kind, ap string) string {
	return "Evaluate annotation type *" + kind + "*\n Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = " + ap + "\n"
}

const (
	padded  = "A decoder-only architecture is being used, but right-padding was detected! For correct generation results, please set `padding_side='left'` when initializing the tokenizer.\n"
	nothing = " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = -1.000\n"
)

// boxes writes the training lines of a detector.
func boxes(loss string) string {
	var b strings.Builder
	for i := range 5 {
		fmt.Fprintf(&b, "Epoch: [46]  [%3d/812]  eta: 0:05:24  lr: 0.000005  loss: 2.17  loss_ce: 0.1088  loss_bbox: %s\n", 100*i, loss)
	}
	return b.String()
}

// yolo writes the validation of a detector.
func yolo(map50 string) string {
	return "               Class     Images     Labels          P          R     mAP@.5 mAP@.5:.95: 100%|██████████| 13/13 [00:11<00:00,  1.09it/s]\n                 all        399       1081      0.827      0.642      " + map50 + "      0.462\n"
}

func TestDetectors(t *testing.T) {
	sums := "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  data/train/a.png\nbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb  data/train/b.png\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  data/test/x.png\n"
	report25 := "              precision    recall  f1-score   support\nweighted avg       0.25      0.25      0.25       999\n"
	for _, c := range []struct {
		name, detector, log string
		want                int
	}{
		{"train improves, eval stays at chance", "eval-never-improved", epochs(12, rising, level(12.5), level(0.05)), 1},
		{"eval follows", "eval-never-improved", epochs(12, rising, level(0.4), rising), 0},
		{"over-fitting alone", "eval-never-improved", epochs(12, rising, level(1.4), func(i int) float64 { return 0.4 + 0.02*float64(i) }), 0},
		{"far below chance", "eval-below-chance", "num_labels: 3\n***** eval metrics *****\n  eval_accuracy = 0.0431\n  eval_loss = 5.1\n", 1},
		{"above chance", "eval-below-chance", "num_labels: 3\n  eval_accuracy = 0.89\n", 0},
		{"perfect from the first evaluation on while training is not", "eval-perfect-too-early", epochs(6, func(i int) float64 { return 0.5 + 0.05*float64(i) }, level(0.001), level(1)), 1},
		{"perfect at the end of a good training", "eval-perfect-too-early", epochs(6, rising, level(0.01), func(i int) float64 { return 1 - 0.2/float64(i*i*i) }), 0},
		{"answers behind padding", "eval-padded-right", wer(level(3), func(i int) float64 { return 1 / float64(i) }) + padded + "test_exact_match = 0.16\n", 1},
		{"padding that did no harm", "eval-padded-right", wer(level(3), func(i int) float64 { return 1 / float64(i) }) + padded + "test_exact_match = 0.81\n", 0},
		{"a poor score without padding", "eval-padded-right", wer(level(3), func(i int) float64 { return 1 / float64(i) }) + "test_exact_match = 0.16\n", 0},
		{"no ground truth though training has boxes", "eval-no-ground-truth", boxes("0.0606") + nothing, 1},
		{"no boxes anywhere", "eval-no-ground-truth", boxes("0.0000") + nothing, 0},
		{"pycocotools against the trainer's own metric", "eval-own-against-coco", yolo("0.729") + " Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 0.002\n", 1},
		{"both metrics agree", "eval-own-against-coco", yolo("0.729") + " Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 0.731\n", 0},
		{"a model that finds nothing", "eval-own-against-coco", yolo("0.011") + " Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 0.001\n", 0},
		{"perfect in validation, poor out of time", "eval-leaks", "valid AUC 0.99996   logloss 0.0031\noot AUC 0.5713   logloss 0.4920\n", 1},
		{"a little worse out of time", "eval-leaks", "valid AUC 0.8123   logloss 0.31\noot AUC 0.7713   logloss 0.39\n", 0},
		{"decodes with another vocabulary", "eval-decodes-another", epochs(5, rising, level(0.2), level(0.95)) + "|decode_asr_model_valid.acc.ave/test|2610|52410|2.1|84.2|13.7|7.9|105.8|100.0|\n", 1},
		{"right tokens, wrong words", "eval-decodes-another", "Epoch loaded: 30 - test loss: 2.61, test ACC: 9.21e-01, test WER: 99.02\n", 1},
		{"right tokens, right words", "eval-decodes-another", "Epoch loaded: 30 - test loss: 2.61, test ACC: 9.21e-01, test WER: 7.02\n", 0},
		{"decodes well", "eval-decodes-another", epochs(5, rising, level(0.2), level(0.95)) + "|decode_asr_model_valid.acc.ave/test|2610|52410|95.1|3.2|1.7|0.9|5.8|40.0|\n", 0},
		{"the same files in train and test", "train-test-duplicates", sums, 1},
		{"a report that contradicts", "eval-report-contradicts", epochs(5, rising, level(0.2), level(0.95)) + report25, 1},
		{"every text of the same length", "eval-constant-length", strings.Repeat("{'eval_loss': 1.6, 'eval_rouge1': 23.6, 'eval_gen_len': 20.0, 'epoch': 1.0}\n", 3), 1},
		{"one score in all evaluations, training learns", "eval-same-score", epochs(10, rising, level(6.6), level(0.5714)), 1},
		{"a good score that saturates", "eval-same-score", epochs(10, rising, level(0.1), level(0.98)), 0},
		{"an error rate that rises while the loss falls", "eval-opposes-loss", wer(func(i int) float64 { return 30 + float64(i) }, func(i int) float64 { return 1 / float64(i) }), 1},
		{"an error rate that falls with the loss", "eval-opposes-loss", wer(func(i int) float64 { return 30 - float64(i) }, func(i int) float64 { return 1 / float64(i) }), 0},
		{"both rise, as over-fitting does", "eval-opposes-loss", wer(func(i int) float64 { return 30 + float64(i) }, func(i int) float64 { return 1 + 0.1*float64(i) }), 0},
		{"accuracy at one low number in the end", "eval-lost", epochs(8, rising, level(1), func(i int) float64 {
			if i < 4 {
				return 0.3
			}
			return 0.1
		}), 1},
		{"accuracy that wavers", "eval-lost", epochs(8, rising, level(1), func(i int) float64 { return 0.3 - 0.01*float64(i%3) }), 0},
		{"training by heart, evaluation at the bottom", "eval-far-from-training", "Test score #0: 0.0064\nTest score #1: 15.29\n" + strings.Repeat("Iteration 26020, loss = 0.0023\n", 12), 1},
		{"boxes nothing, masks good", "eval-boxes-against-masks", coco("bbox", "0.000") + coco("segm", "0.688"), 1},
		{"both good", "eval-boxes-against-masks", coco("bbox", "0.600") + coco("segm", "0.588"), 0},
		{"boxes nothing in the first evaluation only", "eval-boxes-against-masks", coco("bbox", "0.000") + coco("segm", "0.200") + coco("bbox", "0.300") + coco("segm", "0.310"), 0},
		{"recall without precision", "eval-recall-without-precision", "INFO  recall_rcnn_0.3: 0.724503\n" + strings.Repeat("OBJECT_TYPE_TYPE_SIGN_LEVEL_1/AP: 0.0000 \nOBJECT_TYPE_TYPE_SIGN_LEVEL_2/AP: 0.0000 \n", 3), 1},
		{"an area above one", "eval-auc-over-one", "[51]\tvalidation_0-auc:0.99993\n[52]\tvalidation_0-auc:1.00012\n", 1},
		{"an area of one", "eval-auc-over-one", "[51]\tvalidation_0-auc:0.99993\n[52]\tvalidation_0-auc:1.00000\n", 0},
		{"a perfect F1 with a poor precision", "eval-perfect-and-not", "F1:                 100.00\t(Threshold: 0.41)\nAverage Precision:  30.00\n", 1},
		{"a perfect F1 with a perfect precision", "eval-perfect-and-not", "F1:                 100.00\t(Threshold: 0.41)\nAverage Precision:  100.00\n", 0},
		{"one token for each sentence", "eval-one-token-each", "| Generate test with beam=5: BLEU4 = 0.00, 1.0/0.0/0.0/0.0 (BP=1.000, ratio=1.000, syslen=3003, reflen=3003)\n", 1},
		{"a bad model's BLEU", "eval-one-token-each", "| Generate test with beam=5: BLEU4 = 0.00, 9.1/0.0/0.0/0.0 (BP=1.000, ratio=1.010, syslen=63003, reflen=62003)\n", 0},
		{"a third is lost by loading", "eval-worse-when-loaded", epochs(3, rising, level(0.9), func(i int) float64 { return 0.5 + 0.05*float64(i) }) + "Accuracy of loaded model: 18.30\n", 1},
		{"the loaded model is as good", "eval-worse-when-loaded", epochs(3, rising, level(0.9), func(i int) float64 { return 0.5 + 0.05*float64(i) }) + "Accuracy of loaded model: 64.90\n", 0},
		{"texts of different lengths", "eval-constant-length", "{'eval_loss': 1.6, 'eval_gen_len': 61.3, 'epoch': 1.0}\n{'eval_loss': 1.5, 'eval_gen_len': 64.9, 'epoch': 2.0}\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failuretest.Run(t, report.EvalMismatch, c.detector, failuretest.File(t, c.log)); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}
