package redact

import (
	"regexp"
	"strings"
)

// rule is one form of secret. The expression's first group is the secret; the
// whole match if it has none.
type rule struct {
	name string
	hint []string // lower case; one of them is in every text that the rule is about
	re   *regexp.Regexp
	is   func(secret string) bool // whether a match really is one; nil means yes
}

// rules stand from the most exact to the most general. The forms follow the
// vendors' documents and the gitleaks rule set (MIT).
var rules = []rule{
	{"private key", []string{"private key"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----([\s\S]*?)(?:-----END|$)`), nil},
	{"Hugging Face", []string{"hf_", "api_org_"}, regexp.MustCompile(`\b(?:hf_|api_org_)[A-Za-z0-9]{20,}\b`), nil},
	{"OpenAI, Anthropic", []string{"sk-"}, regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}`), mixed},
	{"GitHub", []string{"gh", "github_pat_"}, regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})\b`), nil},
	{"GitLab", []string{"glpat-"}, regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`), nil},
	{"AWS access key", []string{"akia", "asia", "abia", "acca"}, regexp.MustCompile(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`), nil},
	{"Google API key", []string{"aiza"}, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`), nil},
	{"Google OAuth", []string{"ya29.", "gocspx-"}, regexp.MustCompile(`\b(?:ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,})`), nil},
	{"Slack", []string{"xox"}, regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`), nil},
	{"Slack webhook", []string{"hooks.slack.com"}, regexp.MustCompile(`hooks\.slack\.com/services/([A-Za-z0-9/_-]{20,})`), nil},
	{"Neptune", []string{"eyjhcglf"}, regexp.MustCompile(`\beyJhcGlf[A-Za-z0-9+/=]{20,}`), nil},
	{"JWT", []string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}`), nil},
	{"W&B", []string{"wandb"}, regexp.MustCompile(`\bwandb_v\d_[A-Za-z0-9_]{20,}`), nil},
	{"W&B login", []string{"wandb"}, regexp.MustCompile(`(?i)\bwandb:? +login +(?:--\S+ +)*([0-9a-f]{40})\b`), nil},
	{"NVIDIA", []string{"nvapi-"}, regexp.MustCompile(`\bnvapi-[A-Za-z0-9_-]{20,}`), nil},
	{"npm, PyPI, Databricks, Replicate", []string{"npm_", "pypi-", "dapi", "r8_"}, regexp.MustCompile(`\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|dapi[0-9a-f]{32}|r8_[A-Za-z0-9]{30,})\b`), nil},
	{"signed URL", []string{"sig", "x-amz-", "x-goog-"}, regexp.MustCompile(`(?i)[?&](?:sig|x-amz-signature|x-amz-credential|x-amz-security-token|x-goog-signature|x-goog-credential)=([^&\s"']{8,})`), nil},
	{"Azure storage", []string{"accountkey"}, regexp.MustCompile(`(?i)\bAccountKey=([A-Za-z0-9+/=]{20,})`), nil},
	{"password in a URL", []string{"://"}, regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/@"']*:([^\s@/"']+)@`), nil},
	{"token in a URL", []string{"://"}, regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://([A-Za-z0-9_-]{20,})@`), nil},
	{"Authorization", []string{"authorization"}, regexp.MustCompile(`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([^\s"',$][^\s"',]*)`), nil}, // $TOKEN and $(command) are none
	{"Bearer", []string{"bearer"}, regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/-]{16,}=*)`), mixed},
	{"registry auth", []string{`"auth"`}, regexp.MustCompile(`"auth"\s*:\s*"([A-Za-z0-9+/=]{20,})"`), nil},
	{"password", []string{"passw", "pwd"}, regexp.MustCompile(`(?i)(?:^|[^A-Za-z0-9])(?:[A-Z0-9]+[_-])*(?:password|passwd|pwd)["']?(?:\s*[=:]\s*|\s+(?:is|was)\s+)["']?([^\s"',;&]{4,})`), word},
	{"password flag", []string{"--"}, regexp.MustCompile(`(?i)\s--[\w-]*(?:password|passwd|secret)[ =]["']?([^\s"'-][^\s"']{3,})`), word},
	{"secret variable", []string{"_secret"}, regexp.MustCompile(`\b[A-Z0-9_]*_SECRET["']?\s*[=:]\s*["']?([^\s"',;&]{4,})`), word},
	{"variable", []string{"_token", "_key"}, regexp.MustCompile(`\b[A-Z][A-Z0-9_]*_(?:TOKEN|KEY)["']?\s*[=:]\s*["']?([^\s"',;&]{8,})`), mixed},
	{"setting", []string{"key", "token", "secret"}, regexp.MustCompile(`(?i)(?:^|[^A-Za-z0-9])(?:[a-z0-9]+[_-])*(?:(?:api|access|secret|private|account|auth|license)[_-]?key|client[_-]?secret|secret|(?:auth|access|refresh|id|hf|hub|session|security|bearer|api)[_-]?token)["']?\s*[=:]\s*["']?([^\s"',;&]{8,})`), mixed},
	{"token", []string{"token"}, regexp.MustCompile(`(?i)(?:^|[^A-Za-z0-9_-])(?:--)?token["']?\s*[=: ]\s*["']?([A-Za-z0-9_./+-]{20,}=*)`), mixed},
	{"token flag", []string{"--"}, regexp.MustCompile(`(?i)\s--[\w-]*(?:token|api[_-]key|access[_-]key)[ =]["']?([^\s"'-][^\s"']{11,})`), mixed},
}

func (r *rule) applies(low string) bool {
	for _, h := range r.hint {
		if strings.Contains(low, h) {
			return true
		}
	}
	return false
}

func (r *rule) replace(s string) string {
	var b strings.Builder
	last := 0
	for _, m := range r.re.FindAllStringSubmatchIndex(s, -1) {
		from, to := m[0], m[1]
		if len(m) > 2 && m[2] >= 0 {
			from, to = m[2], m[3]
		}
		secret := s[from:to]
		if secret == "" || strings.Contains(secret, mark) || r.is != nil && !r.is(secret) {
			continue
		}
		b.WriteString(s[last:from])
		b.WriteString(mask(secret))
		last = to
	}
	b.WriteString(s[last:])
	return b.String()
}

// mixed reports whether a value looks random: letters and digits, and neither a
// number, a path, a module's name nor a marker like <|endoftext|>.
func mixed(v string) bool {
	var letters, digits, others int
	for _, c := range v {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters++
		case c == '<' || c == '[' || c == '(' || c == '{' || c == '$':
			return false
		default:
			others++
		}
	}
	return letters >= 4 && (digits >= 2 || digits == 1 && len(v) >= 32) && !strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "./") &&
		strings.Count(v, ".") < 3 && others*4 <= len(v) && word(v)
}

// word reports whether a value is one at all: not a number, a variable, a
// literal of a language or stars.
func word(v string) bool {
	switch strings.ToLower(strings.TrimRight(v, ".)]}")) {
	case "none", "null", "nil", "true", "false", "required", "undefined", "missing", "incorrect", "invalid", "wrong", "empty", "unset":
		return false
	}
	return !strings.HasPrefix(v, "$") && !strings.HasPrefix(v, "<") && strings.Trim(v, "*x0123456789.+-e") != ""
}
