package logformat

import "testing"

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"loss", "loss"},
		{"Loss", "loss"},
		{"train_loss", "loss"},
		{"loss/train", "loss"},
		{"train/loss", "loss"},
		{"lm loss", "loss"},
		{"avr_loss", "loss"},
		{"total_loss", "loss"},
		{"reduced_train_loss", "loss"},
		{"train_loss_step", "loss"},
		{"Average loss", "loss"},
		{"val_loss", "eval_loss"},
		{"valid_loss", "eval_loss"},
		{"validation/loss", "eval_loss"},
		{"eval/loss", "eval_loss"},
		{"loss/val", "eval_loss"},
		{"test_loss", "eval_loss"},
		{"eval_loss", "eval_loss"},
		{"Validation loss", "eval_loss"},
		{"learning_rate", "lr"},
		{"LR", "lr"},
		{"learning rate", "lr"},
		{"lr-AdamW", "lr"},
		{"gnorm", "grad_norm"},
		{"grad norm", "grad_norm"},
		{"gradient_norm", "grad_norm"},
		{"grad_norm", "grad_norm"},
		{"acc", "accuracy"},
		{"top1", "accuracy"},
		{"Acc@1", "accuracy"},
		{"train_acc", "accuracy"},
		{"val_acc", "eval_accuracy"},
		{"eval_accuracy", "eval_accuracy"},
		{"ppl", "perplexity"},
		{"wps", "tokens_per_second"},
		{"tps", "tokens_per_second"},
		{"tok/s", "tokens_per_second"},
		{"it/s", "steps_per_second"},
		{"ups", "steps_per_second"},
		{"img/s", "samples_per_second"},
		{"train_samples_per_second", "samples_per_second"},
		{"loss scale", "loss_scale"},
		{"nll_loss", "nll_loss"},
		{"D_A", "D_A"},
		{"mAP50-95", "mAP50-95"},
		{"", ""},
		{"label_smoothing", "label_smoothing"},
	} {
		if got := Canonical(c.in); got != c.want {
			t.Errorf("%q: want %q, got %q", c.in, c.want, got)
		}
	}
	for in, name := range baseNames {
		if name != Canonical(name) {
			t.Errorf("%q is called %q, which is called %q", in, name, Canonical(name))
		}
	}
}
