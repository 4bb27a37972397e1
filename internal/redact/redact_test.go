package redact_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/redact"
)

// a builds a test secret, so that no scanner takes this file for a leak.
func a(parts ...string) string { return strings.Join(parts, "") }

func TestSecretsGo(t *testing.T) {
	r36 := "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6"
	for _, tc := range []struct{ name, in, want string }{
		{"Hugging Face", "token " + a("hf", "_") + r36[:34] + " used", "token hf_a…[redacted] used"},
		{"OpenAI", "key is " + a("sk", "-proj-") + r36, "key is sk-p…[redacted]"},
		{"GitHub", "remote: " + a("gh", "p_") + r36, "remote: ghp_…[redacted]"},
		{"AWS access key", a("AK", "IA") + "IOSFODNN7EXAMPLE", "AKIA…[redacted]"},
		{"AWS secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = wJal…[redacted]"},
		{"Google API key", a("AI", "za") + r36[:35], "AIza…[redacted]"},
		{"Slack", a("xo", "xb-") + "123456789012-abcdefGHIJKL", "xoxb…[redacted]"},
		{"W&B variable", "export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "export WANDB_API_KEY=0123…[redacted]"},
		{"W&B login", "$ wandb login --relogin 0123456789abcdef0123456789abcdef01234567", "$ wandb login --relogin 0123…[redacted]"},
		{"password in URL", "postgres://bob:hunter22@db:5432/x", "postgres://bob:[redacted]@db:5432/x"},
		{"token in URL", "https://" + r36 + "@example.com/x.git", "https://aB3d…[redacted]@example.com/x.git"},
		{"password variable", `DB_PASSWORD="hunter22"`, `DB_PASSWORD="[redacted]"`},
		{"secret variable", "APP_CLIENT_SECRET=ab12", "APP_CLIENT_SECRET=[redacted]"},
		{"dict", "{'hf_token': '" + r36 + "', 'lr': 0.1}", "{'hf_token': 'aB3d…[redacted]', 'lr': 0.1}"},
		{"header", "Authorization: Bearer abc.def-123", "Authorization: Bearer [redacted]"},
		{"a command in its place", `curl -H "Authorization: Bearer $(gcloud auth print-access-token)" https://x`, `curl -H "Authorization: Bearer $(gcloud auth print-access-token)" https://x`},
		{"JWT", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123", "got eyJh…[redacted]"},
		{"flag", "python t.py --wandb-token ab12cd34ef56ab12 --lr 1", "python t.py --wandb-token [redacted] --lr 1"},
		{"signed URL", "GET https://b.example.com/o?X-Amz-Signature=0123456789abcdef0123456789", "GET https://b.example.com/o?X-Amz-Signature=0123…[redacted]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := redact.Text(tc.in)
			if got != tc.want {
				t.Errorf("Text(%q)\nwant %q\n got %q", tc.in, tc.want, got)
			}
			if again := redact.Text(got); again != got {
				t.Errorf("not idempotent: %q became %q", got, again)
			}
		})
	}
}

func TestEverythingElseStays(t *testing.T) {
	for _, s := range []string{
		"tokens_per_second=123.45 | tokens=1,234,567 | token: 5",
		"Special tokens: pad_token: '<pad>', eos_token=<|endoftext|>, bos_token_id=151643",
		"torch.Size([8, 2048, 4096]) torch.float16 step 1200/10000",
		"/root/.cache/huggingface/hub/models--gpt2/snapshots/607a30d783dfa663caf39e06633721c8d4cfccd7/config.json",
		"git commit 607a30d783dfa663caf39e06633721c8d4cfccd7",
		"Missing key(s) in state_dict: \"model.layers.10.self_attn.q_proj.weight\"",
		"unexpected key: transformer.h.0.attn.c_attn.weight",
		"KeyError: 'input_ids'",
		"sort_key=validation_loss_epoch_10",
		"wandb: Syncing run sunny-wood-12 https://wandb.ai/team/proj/runs/3kq1x9aa",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"password: required", "the token is invalid", "hf_transfer enabled", "sk-learn-contrib-something-very-long",
		"loss=nan lr=1e-4 [12:00:01] s3://bucket/key/part-00012.parquet", "max_new_tokens: 2048", "token=None",
		"CUDA error at 0x7f3a5c000000 in void at::native::vectorized_elementwise_kernel<4>",
		"rank0: /opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py:1501",
		"ssh: connect to user@host:/data/runs/7 port 22", "host:29500/worker@node7",
	} {
		if got := redact.Text(s); got != s {
			t.Errorf("changed\nwant %q\n got %q", s, got)
		}
	}
}

func TestCleanTakesOutWhatIsNotText(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m":                      "red",
		"\x1b]0;title\x07text":                    "text",
		"\x1b]8;;https://x\x1b\\a\x1b]8;;\x1b\\b": "ab",
		"a\x00b\x08c\rd\te\nf":                    "abcd\te\nf",
		"ok\u202egnp.exe\u2066":                   "okgnp.exe",
		"x\U000E0041\U000E0042y\u200bz":           "xyz",
		"bad\xffutf":                              "bad\uFFFDutf",
		"Größe 模型 ✓":                              "Größe 模型 ✓",
	} {
		if got := redact.Clean(in); got != want {
			t.Errorf("Clean(%q)\nwant %q\n got %q", in, want, got)
		}
	}
}

func TestClipCutsCharactersAfterRedacting(t *testing.T) {
	if got, want := redact.Clip("ααααα", 3), "αα…"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	secret := a("hf", "_") + strings.Repeat("a1B2", 9)
	if got := redact.Clip("x "+secret, 20); strings.Contains(got, "a1B2") {
		t.Errorf("half a secret escaped: %q", got)
	}
}

func TestLinesKnowsAKeyOverSeveralLines(t *testing.T) {
	in := []string{"before", "-----BEGIN " + "RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA", "abc=", "-----END RSA PRIVATE KEY-----", "after"}
	got := redact.Lines(in)
	want := []string{"before", "-----BEGIN RSA PRIVATE KEY-----", "[redacted]", "[redacted]", "-----END RSA PRIVATE KEY-----", "after"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func FuzzText(f *testing.F) {
	f.Add("Authorization: Bearer abc \x1b[3")
	f.Fuzz(func(t *testing.T, s string) {
		got := redact.Text(s)
		if !utf8.ValidString(got) {
			t.Errorf("invalid UTF-8 from %q", s)
		}
		if again := redact.Text(got); again != got {
			t.Errorf("not idempotent: %q, then %q", got, again)
		}
	})
}
