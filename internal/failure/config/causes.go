package config

import (
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

// fix is a fix that needs approval, as most of this class do.
func fix(action, impact, validate string, seconds int, confidence float64) report.Fix {
	return report.Fix{
		Action: action, Risk: report.NeedsApproval, ExpectedImpact: impact, Validate: validate,
		TimeToTrySeconds: seconds, Confidence: confidence, Impact: 0.95, Reversible: true,
	}
}

// look is a read-only check that shows the mistake but does not remove it.
func look(action, impact, validate string, seconds int) report.Fix {
	return report.Fix{
		Action: action, Risk: report.Safe, ExpectedImpact: impact, Validate: validate,
		TimeToTrySeconds: seconds, Confidence: 0.75, Impact: 0.4, Reversible: true, LeavesCause: true,
	}
}

var causes = []failure.Cause{
	{
		Name: "missing-module",
		Root: "A package that the program imports is not installed in the environment or image that the run started in.",
		Fixes: []report.Fix{
			listVersions,
			fix("Add the missing package to the environment or image (requirements file) and start again", "removes the failure", "python imports the module alone; the run starts", 600, 0.9),
		},
	},
	{
		Name:  "version-mismatch",
		Root:  "Two packages, or the code and a package, do not fit each other: the name, class or file form that one uses does not exist in the installed version of the other.",
		Fixes: []report.Fix{listVersions, pinVersions},
	},
	{
		Name:  "binary-mismatch",
		Root:  "A compiled extension does not fit this environment: it was built against another PyTorch, CUDA or C++ library than the installed ones.",
		Fixes: []report.Fix{torchEnvironment, rebuild},
	},
	{
		Name:  "api-change",
		Root:  "A call does not fit the interface of the installed version: an argument, a return value or an attribute that one side expects does not exist on the other.",
		Fixes: []report.Fix{listVersions, pinVersions, readCode},
	},
	{
		Name:  "code-error",
		Root:  "The program itself is wrong at the place that the traceback shows; the data and the machine play no part in it.",
		Fixes: []report.Fix{readCode, compareConfig},
	},
	{
		Name: "bad-argument",
		Root: "The command line has an argument that the program does not know, lacks one that it requires, or gives a value of the wrong form.",
		Fixes: []report.Fix{
			look("Print the program's help and compare the spelling and the values of the arguments", "shows the argument that is wrong", "the named argument is missing from the help or takes other values", 60),
			correctValue,
		},
	},
	{
		Name:  "unknown-key",
		Root:  "The configuration has a key, class or option that the program does not know, or lacks one that it needs.",
		Fixes: []report.Fix{compareConfig, correctValue},
	},
	{
		Name: "missing-config-file",
		Root: "A file or command that the start command names does not exist at this path on this machine.",
		Fixes: []report.Fix{
			look("List the folder of the named path and the working directory of the job", "shows where the file really lies", "the file is found under another name or folder", 60),
			fix("Correct the path in the start command, or bring the file into the image or working directory", "removes the failure", "the program opens the file and goes on", 300, 0.9),
		},
	},
	{
		Name:  "bad-config-file",
		Root:  "A configuration file cannot be parsed: its syntax is wrong at the place that the parser names.",
		Fixes: []report.Fix{fix("Correct the syntax at the line and column that the parser names", "removes the failure", "a parser reads the file alone without an error", 120, 0.9), compareConfig},
	},
	{
		Name:  "conflicting-settings",
		Root:  "Two settings, or a setting and this model or machine, exclude each other, and the program refuses the combination.",
		Fixes: []report.Fix{compareConfig, correctValue},
	},
	{
		Name: "schedule-too-short",
		Root: "The learning-rate schedule was given fewer steps than the run has (a number of its own in the config, counted per device, per epoch or without gradient accumulation), so it ended early and the rest of the run trains nothing.",
		Fixes: []report.Fix{{
			Action: "Give the schedule the run's number of optimizer steps (in DeepSpeed: total_num_steps and warmup_num_steps \"auto\")", Risk: report.NeedsApproval, ExpectedImpact: "the learning rate reaches its end with the run",
			Validate: "at half of the steps the learning rate lies between its peak and its end", TimeToTrySeconds: 300, Confidence: 0.9, Impact: 0.95, Reversible: true,
		}, {
			Action: "Go on from the last checkpoint before the learning rate was 0, with the right schedule", Risk: report.NeedsApproval, ExpectedImpact: "keeps what was learnt", Validate: "the loss goes on falling within 200 steps",
			TimeToTrySeconds: 900, Confidence: 0.75, Impact: 0.8, Reversible: true,
		}},
	},
	{
		Name: "batch-arithmetic",
		Root: "Numbers of the configuration do not divide as the program demands: batch size, accumulation, parallel sizes, heads or the number of processes.",
		Fixes: []report.Fix{
			look("Write down global batch, micro batch, accumulation and data, tensor and pipeline parallel sizes with the number of processes that really started", "shows the number that changed", "one product does not come out", 120),
			fix("Start on a number of processes that the batch and parallel sizes divide, or change the batch size to a multiple", "removes the failure", "the check passes and step 1 completes", 300, 0.9),
		},
	},
	{
		Name: "deepspeed-mismatch",
		Root: "The DeepSpeed config and the trainer's arguments give different values for the same setting.",
		Fixes: []report.Fix{
			fix("Write \"auto\" for the named keys in the DeepSpeed config, so that the trainer's values are taken", "removes the failure", "DeepSpeed prints its config and step 1 completes", 120, 0.92),
			compareConfig,
		},
	},
	{
		Name: "string-number",
		Root: "A number is written as a string in the config file: both sides print alike, but a string never equals a number.",
		When: stringNumber,
		Fixes: []report.Fix{
			fix("Write the value without quotation marks, or \"auto\", in the config file", "removes the failure", "the check passes and step 1 completes", 60, 0.95),
			compareConfig,
		},
	},
	{
		Name: "launcher-environment",
		Root: "The program was not started in the way it needs: a variable, key or number of tasks that its launcher should set is missing or does not fit.",
		Fixes: []report.Fix{
			look("Print the environment of the job (names only) and the command that really started it", "shows the variable that is missing", "the named variable is not in the list", 60),
			fix("Start with the launcher that the program expects, or set the named variable before it", "removes the failure", "all ranks join and step 1 completes", 300, 0.88),
		},
	},
	{
		Name: "types-differ",
		Root: "What meets in one operation does not have the same type: inputs, weights or parts of the model are in another precision, or on another device, than the rest.",
		Fixes: []report.Fix{
			look("Print dtype and device of the inputs and of the parameters of the module that the traceback names", "shows which of the two is the odd one", "one of them differs from the rest", 60),
			fix("Bring the odd one to the type and device of the rest: cast the inputs (x.to(model.dtype)), load all parts in one dtype, or run the step under autocast", "removes the failure", "the step passes; 50 steps with finite loss", 300, 0.9),
		},
	},
	{
		Name: "precision-unsupported",
		Root: "The precision that was asked for is not supported by this GPU, or the types of weights, inputs and optimizer do not fit each other.",
		When: preAmpere,
		Fixes: []report.Fix{
			look("Print the GPU's name and compute capability beside the precision settings (bf16, fp16, tf32, fp8)", "shows whether the card is too old for the setting", "compute capability below 8.0 with bf16 or tf32, below 8.9 with fp8", 60),
			fix("Switch to a precision that the card supports (fp16 or fp32 before Ampere), or run on cards that support it", "removes the failure; fp16 needs loss scaling", "50 steps with finite loss", 300, 0.9),
		},
	},
	{
		Name: "lora-targets",
		Root: "The adapter config names modules that this base model does not have: its layers are called otherwise.",
		Fixes: []report.Fix{
			look("Print the names of the model's linear layers (model.named_modules())", "shows the right names", "the list holds the attention projections under other names", 60),
			fix("Set target_modules to names of this model, or to all-linear", "removes the failure", "the count of trainable parameters is above 0 and step 1 completes", 120, 0.93),
		},
	},
	{
		Name: "weights-do-not-fit",
		Root: "The weights were saved from a model of another shape than the one that was built now: another vocabulary, number of classes, or architecture setting. The file itself is whole.",
		Fixes: []report.Fix{
			look("Compare the two shapes that the error names with the vocabulary, classes and sizes in both configs", "shows the setting that differs", "the difference equals the added tokens or changed classes", 120),
			fix("Build the model as it was when the weights were saved (resize the embeddings to the saved tokenizer first, same number of classes), then load", "removes the failure", "all keys load without a mismatch; the first loss is near the old one", 600, 0.88),
		},
	},
	{
		Name: "rounds-unused",
		Root: "The parameters of the scikit-learn interface were given to xgboost.train, which does not read n_estimators: the number of rounds is its argument num_boost_round, 10 unless it is given. The model is far too small.",
		Fixes: []report.Fix{
			look("Print the number of trees (bst.num_boosted_rounds()) beside the configured one", "shows that only the default was trained", "it prints 10", 60),
			fix("Pass num_boost_round (with early_stopping_rounds) to xgboost.train, and take n_estimators out of the parameters", "trains the model that was meant", "no parameter is reported as unused; the evaluation goes on falling past round 10", 600, 0.93),
		},
	},
	{
		Name: "columns-removed",
		Root: "The Trainer removed every column of the data set, because none bears the name of an argument of the model's forward (a wrapper such as PEFT hides them, or the collator wanted the raw columns), so the data set is empty.",
		Fixes: []report.Fix{
			look("Print the data set's column names beside the arguments of model.forward, and the Trainer's message on ignored columns", "shows that no column is left", "all columns are in the list of ignored ones", 60),
			fix("Set remove_unused_columns=False (or map the data to input_ids, attention_mask and labels first)", "removes the failure", "the first batch holds the model's inputs and step 1 completes", 120, 0.9),
		},
	},
	{
		Name: "vocab-mismatch",
		Root: "The tokenizer does not have what the run needs of it, or does not belong to this model.",
		Fixes: []report.Fix{
			look("Print the tokenizer's length, special tokens and chat template beside the model's vocab_size", "shows what is missing", "the named token or template is empty", 60),
			fix("Set the missing token or template (for padding often the end-of-text token), or take the tokenizer that belongs to the model", "removes the failure", "the first batch is tokenised and step 1 completes", 300, 0.9),
		},
	},
	{
		Name: "shape-mismatch",
		Root: "The shapes of two tensors in the model do not fit: a layer's size, the input's channels or a length differs from what the configuration promised.",
		Fixes: []report.Fix{
			look("Print the shapes of the tensors at the innermost frame for the first batch", "shows which side has the wrong size", "one size differs from the configured one", 300),
			fix("Set the layer's size from the size that really arrives, or bring the input to the configured size", "removes the failure", "forward and backward pass on one batch", 900, 0.8),
		},
	},
	{
		Name:  "gradient-graph",
		Root:  "The gradient cannot flow as the program is written: nothing trainable is left, or a tensor of the graph was changed or freed before backward.",
		Fixes: []report.Fix{look("Print which parameters require gradients and where the loss loses its grad_fn", "shows the place where the graph ends", "a list of trainable parameters that is empty, or a detach or no_grad on the way", 300), readCode},
	},
	{
		Name: "visible-devices",
		Root: "More GPUs are selected than the process may see: the number of processes or the device index does not fit CUDA_VISIBLE_DEVICES or the machine.",
		When: moreProcessesThanDevices,
		Fixes: []report.Fix{
			{
				Action: "Compare the number of processes per node with the GPUs that are visible to the job", Risk: report.Safe,
				ExpectedImpact: "shows the difference", Validate: "fewer GPUs are listed than processes were started", Command: new("nvidia-smi -L"),
				TimeToTrySeconds: 30, Confidence: 0.85, Impact: 0.4, Reversible: true, LeavesCause: true,
			},
			fix("Start as many processes as GPUs are visible, or make all GPUs visible", "removes the failure", "every rank prints its device and step 1 completes", 120, 0.93),
		},
	},
	{
		Name:  "no-cuda-build",
		Root:  "The installed PyTorch is a CPU build, so no GPU can be used whatever the machine has.",
		Fixes: []report.Fix{torchEnvironment, fix("Install the PyTorch wheel of the CUDA version that the driver supports", "removes the failure", "torch.cuda.is_available() is True", 900, 0.93)},
	},
	{
		Name: "no-device-build",
		Root: "The run asks for a device that the installed library cannot use: it was built without support for it, or finds none of its kind on this machine.",
		Fixes: []report.Fix{
			look("Print the library's build information and the devices that the process sees", "shows whether the build or the device is missing", "the build lists no support, or no device is listed", 60),
			fix("Install a build of the library with support for the device, or set the device to cpu", "removes the failure", "the first iterations run on the configured device", 900, 0.9),
		},
	},
	{
		Name:  "device-placement",
		Root:  "Tensors of one operation lie on different devices: a part of the model, a buffer or the batch was not moved.",
		Fixes: []report.Fix{look("Print the device of the parameters, buffers and batch before the failing call", "shows what was not moved", "one of them is on the CPU or on another GPU", 300), readCode},
	},
	{
		Name: "attention-backend",
		Root: "The attention implementation that the configuration asks for does not run with this GPU, model, type or installation.",
		When: preAmpere,
		Fixes: []report.Fix{
			fix("Choose another attention implementation (sdpa or eager instead of flash_attention_2)", "removes the failure; slower and with more memory", "step 1 completes", 120, 0.9),
			torchEnvironment,
		},
	},
	{
		Name:  "kernel-build",
		Root:  "A kernel or extension could not be compiled or compiled for this GPU: compiler, CUDA toolkit and PyTorch do not fit, or one is missing.",
		Fixes: []report.Fix{torchEnvironment, fix("Install the CUDA toolkit and compiler that fit PyTorch (or a ready wheel of the extension), or switch the feature off that needs it", "removes the failure", "the extension builds alone; step 1 completes", 1800, 0.8)},
	},
}
