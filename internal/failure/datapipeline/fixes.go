package datapipeline

import "github.com/trainmedic/trainmedic/internal/report"

// The fixes that several causes share.
var (
	findSample = report.Fix{
		Action: "Find the sample: run the loader alone over the data (num_workers=0, no model) and print the index or file of the first one that raises",
		Risk:   report.Safe, ExpectedImpact: "names the sample, file or row that broke the batch", Validate: "the loop prints one index with the same exception, or passes over all samples",
		TimeToTrySeconds: 900, Confidence: 0.75, Impact: 0.5, Reversible: true, LeavesCause: true,
	}
	guardSample = report.Fix{
		Action: "Repair or drop the samples that break the batch, and make the dataset skip and count such samples in future",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure; the data changes by the dropped samples", Validate: "200 steps over the same part of the data without this exception",
		TimeToTrySeconds: 1800, Confidence: 0.8, Impact: 0.9, Reversible: true,
	}
	fixLabels = report.Fix{
		Action: "Make labels and loss agree: map labels to 0..classes-1 with the type and shape that the loss takes, and check the class count of the model",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "min, max and dtype of the labels fit the loss over the whole training set; 50 steps pass",
		TimeToTrySeconds: 1200, Confidence: 0.8, Impact: 0.95, Reversible: true,
	}
	countLabels = report.Fix{
		Action: "Print the labels' dtype, shape, minimum, maximum and count of missing values over the training set, beside the number of classes of the model",
		Risk:   report.Safe, ExpectedImpact: "shows which labels do not fit", Validate: "one value or type lies outside what the loss takes",
		TimeToTrySeconds: 300, Confidence: 0.8, Impact: 0.5, Reversible: true, LeavesCause: true,
	}
	realignSpans = report.Fix{
		Action: "Check 20 annotations by printing text[start:end] beside the label (with spaCy: offsets_to_biluo_tags), correct the offsets at their source and convert again",
		Risk:   report.NeedsApproval, ExpectedImpact: "the entities reach the model", Validate: "the conversion gives no misalignment warning for 95 % of the spans; the score leaves 0 within some evaluations",
		TimeToTrySeconds: 1800, Confidence: 0.88, Impact: 0.95, Reversible: true,
	}
	sameTokens = report.Fix{
		Action: "Apply the tokenizer (BPE codes, SentencePiece model, casing) that the dictionary was made with to all splits, and prepare the data again",
		Risk:   report.NeedsApproval, ExpectedImpact: "the model sees the text", Validate: "less than 1 % of the tokens is replaced by <unk>",
		TimeToTrySeconds: 1800, Confidence: 0.88, Impact: 0.95, Reversible: true,
	}
	listFiles = report.Fix{
		Action: "Compare the paths of the dataset's list or config with what lies on the disk of this machine (mounts, symlinks, upper and lower case)",
		Risk:   report.Safe, ExpectedImpact: "shows which folder or files are missing", Validate: "the count of files found equals the count that the list names",
		TimeToTrySeconds: 300, Confidence: 0.8, Impact: 0.5, Reversible: true, LeavesCause: true,
	}
	rightPath = report.Fix{
		Action: "Point the dataset at the folder that holds the files, or bring the missing files there",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the number of samples at start equals the expected one; 50 steps pass",
		TimeToTrySeconds: 900, Confidence: 0.8, Impact: 0.95, Reversible: true,
	}
	fetchAgain = report.Fix{
		Action: "Fetch the named file again from its source and compare its size or checksum with the original",
		Risk:   report.Safe, ExpectedImpact: "removes the failure where the file was damaged in transit", Validate: "the file opens; the loader passes over it",
		TimeToTrySeconds: 600, Confidence: 0.6, Impact: 0.8, Reversible: true,
	}
	alignColumns = report.Fix{
		Action: "Print the column names and types of the data and make them agree with the names that the code and the model's forward read (rename, map or stop removing columns)",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the first batch holds the inputs and labels that the model takes; 50 steps pass",
		TimeToTrySeconds: 900, Confidence: 0.8, Impact: 0.95, Reversible: true,
	}
)
