package logformat

// baseNames are the canonical metrics by their spellings, in lower case with
// underscores and without a train or eval prefix. It is the only table of names.
var baseNames = map[string]string{
	"loss": "loss", "lm_loss": "loss", "total_loss": "loss", "avg_loss": "loss", "avr_loss": "loss",
	"mean_loss": "loss", "running_loss": "loss", "loss_total": "loss", "loss_avg": "loss",
	"loss_mean": "loss", "avgloss": "loss", "loss_function": "loss", "loss_step": "loss", "loss_epoch": "loss", "ce_loss_avg": "loss",
	"smoothed_loss": "loss", "loss_train_total": "loss", "crossentropyloss": "loss", "cross_entropy_loss": "loss", "ce_loss": "loss", "trl": "loss", "tel": "eval_loss", "loss_smooth": "loss", "cost": "loss", "average_loss": "loss", "xe_loss": "loss", "iter_loss": "loss",
	"learning_rate": "lr", "lr": "lr", "learningrate": "lr", "lr_group_0": "lr", "lr_0": "lr", "base_lr": "lr",
	"current_lr": "lr", "lr_adam": "lr", "lr_adamw": "lr", "lr_sgd": "lr", "last_lr": "lr",
	"gnorm": "grad_norm", "grad_norm": "grad_norm", "gradient_norm": "grad_norm", "gradnorm": "grad_norm",
	"grad_norm_total": "grad_norm", "grad_2.0_norm_total": "grad_norm", "total_grad_norm": "grad_norm",
	"global_grad_norm": "grad_norm", "actor_grad_norm": "grad_norm", "norm": "grad_norm", "gn": "grad_norm",
	"global_gradient_norm": "grad_norm", "grad_l2_norm": "grad_norm", "norm_grad": "grad_norm", "grad": "grad_norm",
	"acc": "accuracy", "accuracy": "accuracy", "top1": "accuracy", "top_1": "accuracy", "acc1": "accuracy",
	"acc_1": "accuracy", "acc@1": "accuracy", "accuracy_top_1": "accuracy", "top1_acc": "accuracy",
	"accuracy_top1": "accuracy", "categorical_accuracy": "accuracy", "binary_accuracy": "accuracy",
	"sparse_categorical_accuracy": "accuracy", "prec@1": "accuracy", "iter_acc": "accuracy", "top_1_acc": "accuracy",
	"accuracy@1": "accuracy", "mean_accuracy": "accuracy", "acc_top1": "accuracy", "token_acc": "accuracy",
	"top1_accuracy": "accuracy", "mean_token_accuracy": "accuracy", "prec1": "accuracy", "top_1_accuracy": "accuracy",
	"ppl": "perplexity", "perplexity": "perplexity", "perp": "perplexity", "pplx": "perplexity",
	"samples_per_second": "samples_per_second",
	"images_s":           "samples_per_second",
	"examples_s":         "samples_per_second", "samples_per_sec": "samples_per_second", "ips": "samples_per_second",
	"examples_per_second": "samples_per_second", "currsamplespersec": "samples_per_second", "samples_s": "samples_per_second",
	"images_per_second": "samples_per_second", "images_per_sec": "samples_per_second", "img_s": "samples_per_second", "imgs_s": "samples_per_second", "fps": "samples_per_second",
	"images_sec": "samples_per_second", "samples_sec": "samples_per_second", "examples_sec": "samples_per_second",
	"wps": "tokens_per_second", "tps": "tokens_per_second", "tok_s": "tokens_per_second", "tok_sec": "tokens_per_second",
	"tokens_s": "tokens_per_second", "tokens_sec": "tokens_per_second",
	"tokens_per_second": "tokens_per_second", "tokens_per_sec": "tokens_per_second", "tgs": "tokens_per_second",
	"tokens_s_device": "tokens_per_second", "tokens_per_gpu_per_second": "tokens_per_second", "tokens_per_second_per_gpu": "tokens_per_second",
	"tokens_sec_gpu": "tokens_per_second", "throughput_tok_s": "tokens_per_second",
	"it_s": "steps_per_second", "iter_s": "steps_per_second", "iters_s": "steps_per_second",
	"steps_per_second": "steps_per_second", "steps_s": "steps_per_second", "steps_sec": "steps_per_second", "steps_per_sec": "steps_per_second",
	"global_step_sec": "steps_per_second", "ups": "steps_per_second", "it_per_sec": "steps_per_second", "iterations_per_second": "steps_per_second",
	"train_speed(iter_s)": "steps_per_second", "speed(iter_s)": "steps_per_second", "it_sec": "steps_per_second",
	"d_loss": "d_loss", "loss_d": "d_loss", "disc_loss": "d_loss", "g_loss": "g_loss", "loss_g": "g_loss", "gen_loss": "g_loss",
	"critic_loss": "critic_loss", "actor_loss": "actor_loss", "policy_loss": "policy_loss", "value_loss": "value_loss",
	"number_of_nan_iterations": "nan_iterations", "nan_iterations": "nan_iterations", "number_of_skipped_iterations": "skipped_iterations",
	"loss_scale": "loss_scale", "lscale": "loss_scale", "grad_scale": "loss_scale", "loss_scaler": "loss_scale", "amp_scale": "loss_scale",
}

// evalPrefixes and trainPrefixes are what metrics of a phase begin with.
var (
	evalPrefixes  = [...]string{"validation_", "valid_", "valid_1_", "val_", "eval_", "evaluation_", "test_", "dev_", "holdout_"}
	trainPrefixes = [...]string{"train_", "training_", "trn_", "reduced_train_", "tr_", "global_", "avg_", "step_", "trainer_", "epoch_"}
	evalSuffixes  = [...]string{"_val", "_valid", "_validation", "_eval", "_test", "_dev"}
	trainSuffixes = [...]string{"_train", "_training", "_step", "_epoch", "_avg"}
)

const maxName = 48

// Canonical is the canonical name of a metric, or name itself when it has none.
func Canonical(name string) string {
	if n := canonical([]byte(name)); n != "" {
		return n
	}
	return name
}

// canonical is the canonical name of a metric, or "". It does not allocate.
func canonical(name []byte) string {
	var buf [maxName]byte
	n := fold(buf[:0], name)
	if n == nil {
		return ""
	}
	if s, ok := baseNames[string(n)]; ok {
		return s
	}
	if base, ok := cut(n, evalPrefixes[:], evalSuffixes[:]); ok {
		return evalName(plain(base))
	}
	return plain(n)
}

// plain is the canonical name of a folded training metric, or "".
func plain(n []byte) string {
	if s, ok := baseNames[string(n)]; ok {
		return s
	}
	base, ok := cut(n, trainPrefixes[:], trainSuffixes[:])
	if !ok {
		return ""
	}
	return plain(base)
}

// Evaluates reports whether a name is that of a metric of an evaluation.
func Evaluates(name string) bool {
	var buf [maxName]byte
	n := fold(buf[:0], []byte(name))
	_, ok := cut(n, evalPrefixes[:], evalSuffixes[:])
	return ok
}

func evalName(s string) string {
	switch s {
	case "loss":
		return "eval_loss"
	case "accuracy":
		return "eval_accuracy"
	case "perplexity":
		return "eval_perplexity"
	case "samples_per_second":
		return "eval_samples_per_second"
	case "steps_per_second":
		return "eval_steps_per_second"
	}
	return ""
}

// cut removes the first prefix or suffix that n has.
func cut(n []byte, prefixes, suffixes []string) ([]byte, bool) {
	for _, p := range prefixes {
		if has(n, p) && len(n) > len(p) {
			return n[len(p):], true
		}
	}
	for _, s := range suffixes {
		if k := len(n) - len(s); k > 0 && string(n[k:]) == s {
			return n[:k], true
		}
	}
	return n, false
}

// fold writes name in lower case with underscores to buf, nil when it is too
// long to be a known name.
func fold(buf, name []byte) []byte {
	if len(name) > maxName || len(name) == 0 {
		return nil
	}
	for _, c := range name {
		switch c {
		case ' ', '-', '/', '.', ':', '\t':
			c = '_'
		case '\'', '"', '*':
			continue
		}
		buf = append(buf, lower(c))
	}
	for len(buf) > 0 && buf[0] == '_' {
		buf = buf[1:]
	}
	for len(buf) > 0 && buf[len(buf)-1] == '_' {
		buf = buf[:len(buf)-1]
	}
	return buf
}
