package evalmismatch

import (
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

var causes = []failure.Cause{
	{
		Name:  "two-ways",
		Root:  "Training and evaluation do not prepare their inputs (or run the model) in the same way, so the model is evaluated on inputs it has never learnt to read: look at preprocessing, normalisation, image channel order, train/eval mode and the tokenizer of both paths.",
		Fixes: []report.Fix{samePath, overfitCheck},
	},
	{
		Name: "labels-permuted",
		Root: "The model and the evaluation number the classes differently: its predictions are right under other ids, so accuracy lies far below chance.",
		Fixes: []report.Fix{{
			Action: "Map the data set's labels through the model's own label2id/id2label before computing the metric", Risk: report.NeedsApproval, ExpectedImpact: "accuracy becomes the model's true one",
			Validate: "accuracy on 200 validation samples lies above chance", TimeToTrySeconds: 600, Confidence: 0.85, Impact: 0.95, Reversible: true,
		}, {
			Action: "Print the confusion matrix of 200 samples", Risk: report.Safe, ExpectedImpact: "shows which classes are swapped", Validate: "one off-diagonal cell holds most samples of a row",
			TimeToTrySeconds: 300, Confidence: 0.8, Impact: 0.5, Reversible: true, LeavesCause: true,
		}},
	},
	{
		Name: "generation-limit",
		Root: "Generation during evaluation stops at a length limit that is far below the length of the targets (often the default of 20 tokens), so the metric judges cut texts.",
		Fixes: []report.Fix{{
			Action: "Set the generation length of the evaluation (generation_max_length / max_new_tokens / val_max_target_length) to the target length", Risk: report.NeedsApproval, ExpectedImpact: "the metric judges whole texts",
			Validate: "the mean generated length varies and lies near the targets' mean", TimeToTrySeconds: 900, Confidence: 0.85, Impact: 0.9, Reversible: true,
		}},
	},
	{
		Name: "right-padding",
		Root: "Answers are generated in batches whose prompts are padded on the right, so all but the longest prompt are continued behind padding; the model is better than its score.",
		Fixes: []report.Fix{{
			Action: "Set tokenizer.padding_side = 'left' (and a pad token that is masked) for generation only, and evaluate again", Risk: report.NeedsApproval, ExpectedImpact: "the score is that of the model",
			Validate: "batches of 1 and of 16 give the same answers", TimeToTrySeconds: 600, Confidence: 0.88, Impact: 0.95, Reversible: true,
		}, {
			Action: "Generate 20 answers one at a time and compare them with those of the batch", Risk: report.Safe, ExpectedImpact: "shows that padding changes the answers", Validate: "the single answers are right",
			TimeToTrySeconds: 300, Confidence: 0.85, Impact: 0.5, Reversible: true, LeavesCause: true,
		}},
	},
	{
		Name: "no-ground-truth",
		Root: "The evaluation has no ground truth that counts: the annotations are empty, of other image or category ids, or all marked as crowd (or difficult), so every average precision is -1 and says nothing of the model.",
		Fixes: []report.Fix{{
			Action: "Load the validation annotations, count those with iscrowd=0 per category and compare image_id and category_id with the detections; repair the export", Risk: report.NeedsApproval, ExpectedImpact: "average precision becomes a number from 0 to 1",
			Validate: "COCOeval on the ground truth itself gives AP 1.0", TimeToTrySeconds: 900, Confidence: 0.85, Impact: 0.95, Reversible: true,
		}},
	},
	{
		Name: "ids-differ",
		Root: "Ground truth and predictions name categories or images by different ids (from 0 on one side, from 1 on the other; file names against numbers), so hardly a box meets its own.",
		Fixes: []report.Fix{{
			Action: "Map the predictions' category_id and image_id to those of the annotation file, and evaluate again", Risk: report.NeedsApproval, ExpectedImpact: "both metrics agree",
			Validate: "the AP50 of pycocotools lies within 0.03 of the trainer's own", TimeToTrySeconds: 600, Confidence: 0.88, Impact: 0.95, Reversible: true,
		}, {
			Action: "Print the ids of one image and box from both files", Risk: report.Safe, ExpectedImpact: "shows which ids differ", Validate: "the same box has another category_id or image_id", TimeToTrySeconds: 120, Confidence: 0.9, Impact: 0.5, Reversible: true, LeavesCause: true,
		}},
	},
	{
		Name: "predictions-unpaired",
		Root: "Predictions and labels are compared in different orders (a shuffling loader or generator, a dropped batch, a sampler), so the report judges unrelated pairs.",
		Fixes: []report.Fix{{
			Action: "Evaluate with shuffle off (and no dropped batch), collecting labels from the same pass as the predictions", Risk: report.NeedsApproval, ExpectedImpact: "the report agrees with the evaluation accuracy",
			Validate: "the report's accuracy lies within 1 % of the evaluation accuracy", TimeToTrySeconds: 600, Confidence: 0.85, Impact: 0.95, Reversible: true,
		}},
	},
	{
		Name: "sign-turned",
		Root: "Scores or labels are turned round: distances are read as similarities, or the positive class is the other one, so the model's ranking is judged upside down.",
		Fixes: []report.Fix{{
			Action: "Turn the sign of the scores (or the label of the positive class) and compute the metric again", Risk: report.NeedsApproval, ExpectedImpact: "the metric becomes its complement",
			Validate: "mean score of positive pairs lies above that of negative pairs", TimeToTrySeconds: 300, Confidence: 0.85, Impact: 0.95, Reversible: true,
		}},
	},
	{
		Name: "answer-format",
		Root: "The model answers in another format than the strict parser of the evaluation accepts, so right answers count as wrong.",
		Fixes: []report.Fix{{
			Action: "Score with a parser for the format that the model was trained on (or prompt and few-shot it into the harness's format)", Risk: report.NeedsApproval, ExpectedImpact: "right answers count as right",
			Validate: "strict and flexible scores differ by less than 2 points on 200 samples", TimeToTrySeconds: 1200, Confidence: 0.8, Impact: 0.9, Reversible: true,
		}},
	},
	{
		Name: "protocols-differ",
		Root: "Two evaluations of the same model follow different protocols (sampled negatives against full ranking, other candidates, filters or splits), so their numbers do not compare and neither says that the model is bad.",
		Fixes: []report.Fix{{
			Action: "Evaluate validation and test under one protocol and compare again", Risk: report.NeedsApproval, ExpectedImpact: "comparable numbers", Validate: "the same metric differs by less than 20 % between the two",
			TimeToTrySeconds: 1200, Confidence: 0.8, Impact: 0.9, Reversible: true,
		}},
	},
	{
		Name: "no-template",
		Root: "The evaluation does not hand the model its text in the form it was trained on (chat template, begin-of-text token, tokenizer), so the scores judge inputs that it never learnt to read.",
		Fixes: []report.Fix{{
			Action: "Evaluate with the model's chat template applied (lm_eval: --apply_chat_template, with --fewshot_as_multiturn for few-shot tasks)", Risk: report.NeedsApproval, ExpectedImpact: "the score becomes the tuned model's true one",
			Validate: "answers of 20 samples follow the expected form", TimeToTrySeconds: 900, Confidence: 0.8, Impact: 0.9, Reversible: true,
		}},
	},
	{
		Name: "tokenized-references",
		Root: "The metric was computed on tokenised text (sentencepiece or BPE pieces), so it does not compare with scores on detokenised text.",
		Fixes: []report.Fix{{
			Action: "Detokenise hypotheses and references before scoring (fairseq: --post-process sentencepiece; elsewhere decode with the tokenizer)", Risk: report.NeedsApproval, ExpectedImpact: "an honest score",
			Validate: "no token boundary marks are left in the scored text", TimeToTrySeconds: 900, Confidence: 0.85, Impact: 0.9, Reversible: true,
		}},
	},
	{
		Name: "target-leak",
		Root: "An input of the validation data tells the answer (a field that is filled only after the outcome, a statistic over the target), and it is not there when the model is used; the score says nothing about new data.",
		Fixes: []report.Fix{{
			Action: "Take out the inputs that are known only after the outcome (begin with the most important ones) and train again, split by time", Risk: report.NeedsApproval, ExpectedImpact: "an honest metric",
			Validate: "the validation score lies near the one on later data", TimeToTrySeconds: 3600, Confidence: 0.85, Impact: 0.9, Reversible: true,
		}},
	},
	{
		Name: "leakage",
		Root: "The evaluation set is not independent of the training set: samples of it, or copies, were trained on, so the metric says nothing about new data.",
		Fixes: []report.Fix{{
			Action: "Remove duplicates across the splits (by content hash, then by near-duplicate) or split by source, and evaluate again", Risk: report.NeedsApproval, ExpectedImpact: "an honest metric",
			Validate: "no hash is in two splits; the metric agrees with an external set", TimeToTrySeconds: 3600, Confidence: 0.85, Impact: 0.9, Reversible: true,
		}},
	},
}

var (
	samePath = report.Fix{
		Action: "Run the evaluation's preprocessing on 100 training samples and compare tensors and accuracy with the training path", Risk: report.Safe, ExpectedImpact: "shows which step differs",
		Validate: "both paths give equal tensors and the training samples are classified as in training", TimeToTrySeconds: 900, Confidence: 0.75, Impact: 0.6, Reversible: true, LeavesCause: true,
	}
	overfitCheck = report.Fix{
		Action: "Use one preprocessing (and model mode) for both paths and evaluate again", Risk: report.NeedsApproval, ExpectedImpact: "evaluation follows training",
		Validate: "evaluation accuracy rises with training accuracy over the next evaluations", TimeToTrySeconds: 1800, Confidence: 0.75, Impact: 0.9, Reversible: true,
	}
)
