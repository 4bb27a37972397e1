package gate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRule(t *testing.T) {
	file := Policy{Actions: map[Action]Ruling{Restart: Ask, Terminate: Refuse, CancelSLURM: Allow}}
	for _, tc := range []struct {
		name   string
		action Action
		policy Policy
		grants Grants
		want   Ruling
		why    string
	}{
		{"nothing is said", Restart, Policy{}, Grants{}, Refuse, "read_only"},
		{"nothing is said, approved", Terminate, Policy{}, Grants{Approved: true}, Refuse, "read_only"},
		{"safe", Restart, asking, Grants{}, Allow, ""},
		{"safe, but the script changed", Restart, asking, Grants{Changed: "train.py changed"}, Ask, "changed"},
		{"needs approval", Terminate, asking, Grants{}, Ask, ""},
		{"approved", Terminate, asking, Grants{Approved: true}, Allow, ""},
		{"no fix", Restart, asking, Grants{NoFix: true, Approved: true}, Refuse, "no_fix"},
		{"tried three times", Restart, asking, Grants{Tries: 3, Approved: true}, Refuse, "tries"},
		{"denied", Terminate, asking, Grants{Denied: true, Approved: true}, Refuse, "denied"},
		{"dangerous", "delete_checkpoints", Policy{On: true, Actions: map[Action]Ruling{"delete_checkpoints": Allow}}, Grants{Approved: true}, Refuse, "no_such_action"},
		{"the file asks", Restart, file, Grants{}, Ask, ""},
		{"the file denies", Terminate, file, Grants{Approved: true}, Refuse, "policy"},
		{"the file allows", CancelSLURM, file, Grants{}, Allow, ""},
		{"the file is silent", Repoint, file, Grants{}, Refuse, "policy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, why := Rule(tc.action, tc.policy, tc.grants)
			if got != tc.want || why.Kind != tc.why {
				t.Errorf("got %s, %q (%s); want %s, %q", got, why.Kind, why.Why, tc.want, tc.why)
			}
		})
	}
}

func TestAPolicyFileIsTheOperatorsWord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	for text, want := range map[string]string{
		"actions: {restart: ask, terminate: deny}\napprovers: [1000]\n": "",
		"":                               "",
		"actions: {restart_with: allow}": "ask or deny",
		"actions: {restart: perhaps}":    "no ruling",
		"actions: {format_disk: allow}":  "no action",
		"action: {restart: allow}":       "not found",
		"actions: [":                     "yaml",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var p Policy
		if err := p.ReadPolicy(path); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	var p Policy
	if err := p.ReadPolicy(path); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a file that anybody may write: got %v", err)
	}
}

func TestTheDialogDecidesLittle(t *testing.T) {
	w := &world{}
	ask := map[Action]Ruling{Restart: Ask, Terminate: Ask}
	restart := Proposal{Principal: "agent", Target: "pid:12", Action: Restart}
	for _, tc := range []struct {
		name     string
		policy   Policy
		p        Proposal
		accepted bool
		typed    func(Record) string
		want     State
	}{
		{"the code", Policy{Actions: ask, Elicit: true}, restart, true, func(r Record) string { return r.Short() }, Approved},
		{"no", Policy{Actions: ask, Elicit: true}, restart, false, func(Record) string { return "" }, Denied},
		{"nothing typed", Policy{Actions: ask, Elicit: true}, restart, true, func(Record) string { return "" }, Pending},
		{"the whole digest", Policy{Actions: ask, Elicit: true}, restart, true, func(r Record) string { return r.Digest }, Pending},
		{"not allowed by the operator", Policy{Actions: ask}, restart, true, func(r Record) string { return r.Short() }, Pending},
		{"not a safe action", Policy{Actions: ask, Elicit: true}, kill, true, func(r Record) string { return r.Short() }, Pending},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, _ := open(t, t.TempDir(), tc.policy, w)
			r := propose(t, g, tc.p)
			g.InDialog("agent", r.ID, tc.accepted, tc.typed(r))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if got, err := g.Await(ctx, "agent", r.ID); err != nil || got.State != tc.want {
				t.Errorf("got %s, %v; want %s", got.State, err, tc.want)
			}
		})
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add("actions: {restart: ask}\napprovers: [1]\n")
	f.Add("actions: {restart_with: allow}")
	f.Fuzz(func(t *testing.T, text string) {
		var p Policy
		if err := p.parse([]byte(text)); err != nil {
			return
		}
		for a := range p.Actions {
			if r, _ := Rule(a, p, Grants{}); r == Allow && (a == RestartWith || len(a) == 0) {
				t.Errorf("%q allows %s", text, a)
			}
		}
	})
}
