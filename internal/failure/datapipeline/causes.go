package datapipeline

import (
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

var causes = []failure.Cause{
	{
		Name:  "ragged-batch",
		Root:  "The samples of one batch do not have the same shape, and the collate function can only stack equal ones.",
		Fixes: []report.Fix{findSample, padOrResize},
	},
	{
		Name:  "untensorable-feature",
		Root:  "A feature of the batch cannot become a tensor: it holds text, nested or unequal lists, or objects where the model needs numbers of one length. Padding of the other features does not help it.",
		When:  labelsAtFault,
		Fixes: []report.Fix{countLabels, convertFeature},
	},
	{
		Name:  "schema-differs",
		Root:  "The data files do not all have the same columns and types, so they cannot be read as one table.",
		Fixes: []report.Fix{unifySchema, restrictFiles},
	},
	{
		Name:  "missing-column",
		Root:  "The data does not have the column, key or label that the code or the model reads.",
		Fixes: []report.Fix{alignColumns, findSample},
	},
	{
		Name:  "corrupt-sample",
		Root:  "A file of the data is damaged, truncated or not of the format that its reader expects.",
		Fixes: []report.Fix{findSample, fetchAgain, guardSample},
	},
	{
		Name:  "bad-sample",
		Root:  "A sample does not have the form that the reading or collating code expects: a part of it is missing, empty or of another type.",
		Fixes: []report.Fix{findSample, guardSample},
	},
	{
		Name:  "missing-data-files",
		Root:  "The files that the dataset refers to do not lie where the run looks for them.",
		Fixes: []report.Fix{listFiles, rightPath},
	},
	{
		Name:  "empty-dataset",
		Root:  "No sample is left to train on: the dataset is empty after it was found, filtered or split.",
		Fixes: []report.Fix{listFiles, relaxFilter},
	},
	{
		Name:  "empty-sample",
		Root:  "A sample, shard or batch holds no elements, and the model cannot be called on nothing.",
		Fixes: []report.Fix{findSample, guardSample},
	},
	{
		Name:  "wrong-annotations",
		Root:  "An annotation does not fit its image: a size or a box in it is impossible.",
		Fixes: []report.Fix{findSample, guardSample},
	},
	{
		Name:  "spans-misaligned",
		Root:  "The annotated spans do not begin and end where tokens do (offsets counted from 1, bytes taken for characters, text changed after annotation), so they were left out and hardly an entity is left to learn.",
		Fixes: []report.Fix{realignSpans},
	},
	{
		Name:  "vocabulary-differs",
		Root:  "The text was not prepared as the vocabulary was (words against pieces, another case or tokenizer), so a large part of the tokens is unknown and the model learns to predict exactly that.",
		Fixes: []report.Fix{sameTokens},
	},
	{
		Name:  "labels-unseen",
		Root:  "The loader does not find the label files of the training images (another folder, name or suffix, upper case), takes them for backgrounds, and the model is taught that they hold nothing.",
		Fixes: []report.Fix{listFiles, rightPath},
	},
	{
		Name:  "input-ran-out",
		Root:  "The input gave fewer batches than the run asked for: steps per epoch times epochs, or the share of one worker, exceed what the data holds.",
		Fixes: []report.Fix{fitSteps, repeatInput},
	},
	{
		Name:  "label-out-of-range",
		Root:  "A label is smaller than 0 or not smaller than the number of classes of the model.",
		Fixes: []report.Fix{countLabels, fixLabels},
	},
	{
		Name:  "id-out-of-range",
		Root:  "An id in the batch (token, position or category) is not smaller than the size of the embedding table that it indexes.",
		Fixes: []report.Fix{checkIDs, fitTable},
	},
	{
		Name:  "label-form",
		Root:  "The labels or targets do not have the number, shape, type or range that the loss or estimator takes.",
		When:  labelsAtFault,
		Fixes: []report.Fix{countLabels, fixLabels},
	},
	{
		Name:  "dataset-script",
		Root:  "The data set is a loading script, and the installed version of datasets does not run it (newer ones run none). The data themselves are not the reason.",
		Fixes: []report.Fix{pinDatasets, rightPath},
	},
	{
		Name:  "labels-masked",
		Root:  "The marker that separates prompt from answer is not found in the tokenised samples (or they are cut before it), so all their labels are masked and they teach nothing.",
		Fixes: []report.Fix{countLabels, fixLabels},
	},
	{
		Name:  "labels-alike",
		Root:  "The labels that reach the model hold one class only (the others are ignored, shifted away or never loaded: an ignore index, reduce_zero_label, a mask of the wrong values), so that every prediction is right and nothing is learnt.",
		Fixes: []report.Fix{countLabels, fixLabels},
	},
	{
		Name:  "last-batch",
		Root:  "The last batch of an epoch holds a single sample, and batch normalisation cannot train on one.",
		Fixes: []report.Fix{dropLast},
	},
	{
		Name:  "missing-values",
		Root:  "The table has missing or infinite values where the estimator takes none.",
		Fixes: []report.Fix{countLabels, fillValues},
	},
}

var (
	padOrResize = report.Fix{
		Action: "Bring all samples to one shape: resize, crop or pad in the transform, or give the loader a collate function that pads",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "one epoch of the loader alone passes; 50 training steps pass",
		TimeToTrySeconds: 900, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	convertFeature = report.Fix{
		Action: "Map the named feature to numbers of one length: class names to ids, labels padded by the collator (DataCollatorForTokenClassification or DataCollatorForSeq2Seq pad them), unused text columns removed",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the collator gives a tensor for every feature of 10 batches",
		TimeToTrySeconds: 900, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	unifySchema = report.Fix{
		Action: "Write the differing file anew with the columns and types of the others, or pass explicit features",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the dataset builds and its number of rows is the expected one",
		TimeToTrySeconds: 1200, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	restrictFiles = report.Fix{
		Action: "Name the wanted data files explicitly (data_files), so that files of another layout are left out",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure; the left-out files are not trained on", Validate: "the dataset builds from the named files alone",
		TimeToTrySeconds: 300, Confidence: 0.75, Impact: 0.9, Reversible: true,
	}
	relaxFilter = report.Fix{
		Action: "Compare the filter's limits (length, duration, classes) with the units and values of the data and correct the one that is wrong",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the number of samples after filtering is near the expected one",
		TimeToTrySeconds: 900, Confidence: 0.75, Impact: 0.95, Reversible: true,
	}
	fitSteps = report.Fix{
		Action: "Set steps per epoch to at most samples // (batch size × workers), or leave it out",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the second epoch starts and no warning about the input appears",
		TimeToTrySeconds: 300, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	repeatInput = report.Fix{
		Action: "Make the input endless and equal on all workers: .repeat() on the dataset and drop_remainder=True in batch()",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "two epochs pass on every worker",
		TimeToTrySeconds: 300, Confidence: 0.8, Impact: 0.95, Reversible: true,
	}
	checkIDs = report.Fix{
		Action: "Print the largest id of some batches beside the size of the embedding table and of the tokenizer",
		Risk:   report.Safe, ExpectedImpact: "shows whether the ids or the table are wrong", Validate: "an id is not smaller than the table's number of rows",
		TimeToTrySeconds: 300, Confidence: 0.8, Impact: 0.5, Reversible: true, LeavesCause: true,
	}
	fitTable = report.Fix{
		Action: "Use the tokenizer or category map that belongs to the model, resize the embeddings to it, and cut sequences at the model's maximum length",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "all ids of an epoch are smaller than the table's number of rows",
		TimeToTrySeconds: 900, Confidence: 0.8, Impact: 0.95, Reversible: true,
	}
	pinDatasets = report.Fix{
		Action: "Load the data set's converted files (its Parquet branch or your own export), or install a version of datasets that still runs scripts and trust the script explicitly",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the data set loads and its first sample has the expected columns",
		TimeToTrySeconds: 900, Confidence: 0.88, Impact: 0.95, Reversible: true,
	}
	dropLast = report.Fix{
		Action: "Set drop_last=True in the training loader, or choose a batch size that leaves no remainder of one",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure; at most one batch per epoch is left out", Validate: "a whole epoch passes",
		TimeToTrySeconds: 120, Confidence: 0.9, Impact: 1, Reversible: true,
	}
	fillValues = report.Fix{
		Action: "Drop or fill the rows with missing or infinite values before fitting, and look at the join or export that made them",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "no missing or infinite value is left in features and labels; fit passes",
		TimeToTrySeconds: 900, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
)
