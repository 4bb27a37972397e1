package logformat

import "testing"

// BenchmarkFind reads lines of known forms: metrics, words, a bar.
func BenchmarkFind(b *testing.B) {
	for _, c := range []struct{ name, line string }{
		{"metrics", "2026-10-01 00:00:13 | INFO | train | epoch 000:     24 / 12000 loss=10.271, nll_loss=9.655, ppl=1235.54, wps=29418.9, ups=0.86, wpb=34123.4, bsz=256, num_updates=24, lr=0.0003, gnorm=0.476, clip=0, loss_scale=128, train_wall=58, gb_free=17.3, wall=270039"},
		{"words", "2026-10-01 00:00:03,123 - INFO - megatron.core.optimizer - Deleting older checkpoint [/ckpt/run-17/checkpoint-90065] due to args.save_total_limit"},
		{"mute", "node15:1209:2133 [4] NCCL INFO Channel 06/0 : 0[0] -> 1[1] via P2P/CUMEM/read"},
		{"bar", "Epoch 0:   0%|          | 37/12000 [00:03<22:09,  9.87it/s, loss=10.199, v_num=12, train_loss_step=10.199, lr-AdamW=0.0003]"},
	} {
		b.Run(c.name, func(b *testing.B) {
			line := append([]byte(c.line), "        "...)[:len(c.line)]
			r, fs := NewReader(), NewForms()
			for range 2 {
				if m := Survey(line); m.Mute() {
					fs.Mute(line, m)
				} else {
					r.Anew(line, m, fs, nil)
				}
			}
			fs.File()
			x := NewFinder(fs)
			b.SetBytes(int64(len(line)))
			var nums []float64
			for b.Loop() {
				f, n := x.Find(line, nums[:0])
				if nums = n; f == nil {
					b.Fatal("not learned")
				}
			}
		})
	}
}
