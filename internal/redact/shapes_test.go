package redact

import "testing"

func TestTheTakenOverTableIsWhole(t *testing.T) {
	all := shapes()
	if len(all) < 100 {
		t.Errorf("%d rules", len(all))
	}
	for _, r := range all {
		if r.re() == nil || len(r.hint) == 0 {
			t.Errorf("%s: no expression or no word", r.name)
		}
	}
}

func BenchmarkText(b *testing.B) {
	lines := []string{
		"2026-01-01 12:00:00,123 [rank3] INFO step 1200/10000 loss=0.3420 lr=1.0e-04 grad_norm=0.81 tokens_per_second=123456.7",
		"  File \"/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py\", line 1501, in _call_impl",
		"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity)",
	}
	n := 0
	for _, l := range lines {
		n += len(l)
	}
	b.SetBytes(int64(n))
	for b.Loop() {
		for _, l := range lines {
			Text(l)
		}
	}
}
