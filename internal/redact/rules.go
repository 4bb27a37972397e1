package redact

import (
	"regexp"
	"strings"
	"sync"
)

// rule is one form of secret. The expression's first group that took part is
// the secret; the whole match if it has none.
type rule struct {
	name string
	hint []string // lower case; one of them is in every text that the rule is about
	re   func() *regexp.Regexp
	is   func(secret string) bool // whether a match really is one; nil means yes
}

// rules stand from the most exact to the most general; shapes follow them. The
// forms are those of the vendors' documents. q is what may stand around a name
// or a value: quotes, and those that stand in JSON inside a text.
var rules = []rule{
	{"private key", []string{"private key"}, re(`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----([\s\S]*?)(?:-----END|$)`), nil},
	{"end of a private key", []string{"private key"}, re(`((?:[A-Za-z0-9+/=]{40,}(?:\s|\\n)+)*[A-Za-z0-9+/=]{4,})(?:\s|\\n)*-----END [A-Z ]*PRIVATE KEY`), nil},
	{"line of a key", nil, re(`(?m)(?:^|[\s"'(]|\\n)([A-Za-z0-9+/]{60,}={0,2})`), coded},
	{"Hugging Face", []string{"hf_", "api_org_"}, re(`\b(?:hf_|api_org_)[A-Za-z0-9]{20,}\b`), nil},
	{"OpenAI, Anthropic", []string{"sk-"}, re(`\bsk-[A-Za-z0-9_-]{20,}`), mixed},
	{"GitHub", []string{"gh", "github_pat_"}, re(`\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})\b`), nil},
	{"AWS access key", []string{"akia", "asia", "abia", "acca"}, re(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`), nil},
	{"Google OAuth", []string{"ya29.", "gocspx-", "1//0"}, re(`\b(?:ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{30,})`), nil},
	{"Slack", []string{"xox", "xapp-"}, re(`\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}`), nil},
	{"webhook", []string{"hooks.slack.com", "/api/webhooks/"}, re(`(?:hooks\.slack\.com/services|/api/webhooks)/([A-Za-z0-9/_-]{20,})`), nil},
	{"Neptune", []string{"eyjhcglf"}, re(`\beyJhcGlf[A-Za-z0-9+/=]{20,}`), nil},
	{"JWT", []string{"eyj"}, re(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,})?`), nil},
	{"W&B", []string{"wandb"}, re(`\bwandb_v\d_[A-Za-z0-9_]{20,}`), nil},
	{"W&B login", []string{"wandb", "api key"}, re(`(?i)\b(?:wandb:? +login +(?:--\S+ +)*|api key[^\n]{0,80}: *)([0-9a-f]{20,40})(?:\b|…)`), nil},
	{"NVIDIA, Groq, xAI, Pinecone, LangSmith, RunPod, Kaggle, Fireworks", []string{"nvapi-", "gsk_", "xai-", "pcsk_", "lsv2_", "rpa_", "kgat_", "fw_"}, re(`\b(?:nvapi-|gsk_|xai-|pcsk_|lsv2_(?:pt|sk)_|rpa_|KGAT_|fw_)[A-Za-z0-9_-]{20,}`), mixed},
	{"npm, PyPI, Databricks, Replicate, Docker", []string{"npm_", "pypi-", "dapi", "r8_", "dckr_"}, re(`\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|dapi[0-9a-f]{32}(?:-\d)?|r8_[A-Za-z0-9]{30,}|dckr_[op]at_[A-Za-z0-9_-]{20,})`), nil},
	{"Twilio", []string{"sk0", "sk1", "sk2", "sk3", "sk4", "sk5", "sk6", "sk7", "sk8", "sk9", "ska", "skb", "skc", "skd", "ske", "skf"}, re(`\bSK[0-9a-f]{32}\b`), nil},
	{"Telegram, Stripe, Vault", []string{":aa", "whsec_", "hvs."}, re(`(?:\b|bot)\d{8,10}:AA[A-Za-z0-9_-]{33}|\bwhsec_[A-Za-z0-9+/]{24,}|\bhvs\.[A-Za-z0-9_-]{20,}`), nil},
	{"Kaggle", []string{`"key`, "'key"}, re(`["']username\\?["']\s*:\s*\\?["'][^"']*["']\s*,\s*\\?["']key\\?["']\s*:\s*\\?["']([0-9a-f]{32})`), nil},
	{"signed URL", []string{"sig", "x-amz-", "x-goog-", "accesskeyid"}, re(`(?i)(?:[?&]|\\u0026|&amp;)(?:sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|x-goog-signature|x-goog-credential|(?:AWS|OSS)?AccessKeyId)=([^&\s"'\\<>]{8,})`), nil},
	{"signed request", []string{"aws4-hmac", "goog4-"}, re(`(?:AWS4-HMAC|GOOG4-RSA)-SHA256[^\n]*?Signature=([0-9a-f]{20,})`), nil},
	{"Azure", []string{"accountkey", "sharedaccess"}, re(`(?i)\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=([A-Za-z0-9+/=%&.-]{20,})`), nil},
	{"password in a URL", []string{"://"}, re(`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/@"']*:([^\s/"']+)@`), nil},
	{"token in a URL", []string{"://"}, re(`\b[a-zA-Z][a-zA-Z0-9+.-]*://([A-Za-z0-9_-]{20,})@`), nil},
	{"password of curl", []string{"-u", "--user"}, re(`(?:^|\s)(?:-u|--(?:proxy-)?user)[ =]?` + q + `[^\s:"'/]+:([^\s"'@/]{4,})`), word},
	{"Authorization", []string{"authorization"}, re(`(?i)\bauthorization` + q + `\s*[:=,]\s*b?` + q + `(?:bearer|basic|token|apikey)\s+([^\s"'\\,$][^\s"'\\,]*)`), nil}, // $TOKEN and $(command) are none
	{"Bearer", []string{"bearer"}, re(`(?i)\bbearer\s+([A-Za-z0-9._~+/-]{16,}=*)`), mixed},
	{"cookie", []string{"cookie"}, re(`(?i)\b(?:set-)?cookie` + q + `\s*[:=]\s*` + q + `([A-Za-z0-9_.-]+=[^\n"']{8,})`), nil},
	{"registry auth", []string{"auth"}, re(`["']_?auth\\?["']\s*:\s*\\?["']([A-Za-z0-9+/=]{8,})["'\\]|\b_auth(?:Token)?\s*=\s*([^\s"']{8,})`), nil},
	{"kubeconfig", []string{"client-key-data"}, re(`client-key-data` + q + `\s*:\s*` + q + `([A-Za-z0-9+/=]{20,})`), nil},
	{"netrc", []string{"password"}, re(`\b(?:machine|login)\s+\S+\s+(?:login\s+\S+\s+)?password\s+(\S{4,})`), word},
	{"password hash", []string{"$"}, re(`\$(?:2[aby]|5|6|y|argon2id?)\$[./A-Za-z0-9$=,]{20,}`), nil},
	{"name and value", []string{"value"}, re(`(?i)\bname` + q + `\s*[:=]\s*` + q + `[a-z0-9_.-]*(?:password|passwd|secret|_key|token|credential|_auth)[a-z0-9_.-]*` + q + `\s*,?(?:\s|\\n)*` + q + `value` + q + `\s*[:=]\s*` + q + `([^\s"'\\,}]{4,})`), word},
	{"password", []string{"pass"}, re(`(?i)(?:^|[^A-Za-z0-9]|\\[nt])[A-Za-z0-9_-]*(?:password|passwd|passphrase|sshpass)` + q + `(?:\s*(?:[=:]|=>)\s*|\s+(?:is|was)\s+)(?:SecretStr\()?b?` + q + `([^\s"'\\,;&]{4,})`), word},
	{"pwd", []string{"pwd"}, re(`(?i)(?:\b|_)pwd` + q + `\s*[=:]\s*` + q + `([^\s"'\\,;&/.~][^\s"'\\,;&]{3,})`), word}, // PWD=/root is a folder
	{"password flag", []string{"--"}, re(`(?i)(?:^|[\s"'\[])--[\w-]*(?:password|passwd|passphrase|secret)(?:[ =]|["'],\s*["'])["']?([^\s"'-][^\s"',\]]{3,})`), word},
	{"secret variable", []string{"_secret"}, re(`\b[A-Z0-9_]*_SECRET` + q + `\s*[=:]\s*` + q + `([^\s"'\\,;&]{4,})`), word},
	{"variable", []string{"_token", "_key", "_auth", "_pat"}, re(`\b[A-Z][A-Z0-9_]*_(?:TOKEN|KEY|AUTH|PAT)` + q + `\s*[=:,]\s*b?` + q + `([^\s"'\\,;&)]{8,})`), mixed},
	{"setting", []string{"key", "token", "secret"}, re(`(?i)(?:^|[^A-Za-z0-9]|\\[nt])(?:[a-z0-9]+[_-])*(?:(?:api|access|secret|private|account|auth|license|subscription|encryption)[_-]?key(?:[_-]?id)?|(?:client|shared)[_-]?secret|secret|(?:auth|access|refresh|id|hf|hub|session|security|bearer|api|private)[_-]?token)` + q + `(?:\s*(?:[=:]|=>)\s*|\s+is\s+)(?:SecretStr\()?b?` + q + `([^\s"'\\,;&)]{8,})`), mixed},
	{"token", []string{"token"}, re(`(?i)(?:^|[^A-Za-z0-9_-])(?:--)?token` + q + `\s*[=: ]\s*` + q + `([A-Za-z0-9_./+-]{20,}=*)`), mixed},
	{"key of a login", []string{"key="}, re(`(?i)\b(?:login|init|auth\w*)\(\s*(?:[a-z_]*=[^,()]*,\s*)*(?:api_)?key\s*=\s*` + q + `([^\s"'\\)]{8,})`), mixed},
	{"token flag", []string{"--"}, re(`(?i)(?:^|[\s"'\[])--[\w-]*(?:token|api[_-]?key|access[_-]?key)(?:[ =]|["'],\s*["'])["']?([^\s"'-][^\s"',\]]{11,})`), mixed},
	{"cut off", []string{"…"}, re(`\b((?:hf_|api_org_|gh[pousr]_|github_pat_|gl[a-z]{2,5}-|sk-|[sr]k_(?:live|test)_|AKIA|ASIA|AIza|ya29\.|xox[a-z]-|eyJ|r8_|dapi|nvapi-|gsk_|pypi-|npm_|SG\.|wandb_v)[A-Za-z0-9_./+-]{4,})…`), nil},
	{"cut off in a URL", []string{"…"}, re(`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/@"']*:([^\s@/"'…]{3,})…`), word},
}

// q is an optional quote, also one inside a text of JSON.
const q = `(?:\\*["'])?`

func re(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

func (r *rule) applies(low string) bool {
	if r.hint == nil {
		return longWord(low)
	}
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
	for _, m := range r.re().FindAllStringSubmatchIndex(s, -1) {
		from, to := m[0], m[1]
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				from, to = m[g], m[g+1]
				break
			}
		}
		secret := s[from:to]
		if secret == "" || from < last || masked(secret, s[to:]) || r.is != nil && !r.is(secret) {
			continue
		}
		b.WriteString(s[last:from])
		b.WriteString(mask(secret))
		last = to
	}
	b.WriteString(s[last:])
	return b.String()
}

// masked reports whether a match is what an earlier rule has left.
func masked(match, behind string) bool {
	return strings.Contains(match, mark) || strings.HasPrefix(match, mark[:len(mark)-1]) || strings.HasPrefix(behind, "…"+mark)
}

// longWord reports whether 60 characters in a row are no spaces.
func longWord(s string) bool {
	n := 0
	for i := range len(s) {
		if n++; s[i] == ' ' || s[i] == '\n' || s[i] == '\t' {
			n = 0
		} else if n >= 60 {
			return true
		}
	}
	return false
}

// coded reports whether a long word is random bytes in base64, not a digest in
// hex, a path or a name. 64 random characters have about 5.2 bits each.
func coded(v string) bool {
	return strings.Count(v, "/") <= len(v)/10 && strings.ContainsAny(v, "0123456789") && entropy(v) >= 4.7
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
		strings.Count(v, ".") < 3 && (strings.Count(v, "/") < 3 || v != strings.ToLower(v)) && others*4 <= len(v) && word(v)
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
