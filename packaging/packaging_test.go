// Package packaging_test holds what packages and marketplaces say of the program
// to what it is.
package packaging_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the skills anew from the prompts")

func load[T any](t *testing.T, path string) (v T) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type server struct {
	Version  string
	Packages []struct{ RegistryType, Identifier, Version, FileSHA256 string }
}

type manifest struct {
	Version string
	Server  struct {
		Type       string
		EntryPoint string `json:"entry_point"`
		Config     struct {
			Command string
			Args    []string
		} `json:"mcp_config"`
	}
	Tools []struct{ Name string }
}

// valid holds a server.json to the registry's published schema of 2025-12-11.
func valid(t *testing.T, path string) {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema", load[any](t, "testdata/server.schema.json")); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(load[any](t, path)); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}

func TestAllSpeakOfTheSameProgram(t *testing.T) {
	valid(t, "server.json")
	m := load[manifest](t, "mcpb/manifest.json")
	plugin := load[struct{ Name, Version string }](t, "claude-code/.claude-plugin/plugin.json")
	market := load[struct {
		Plugins []struct{ Name, Source string }
	}](t, "../.claude-plugin/marketplace.json")
	if v := load[server](t, "server.json").Version; v != m.Version || v != plugin.Version {
		t.Errorf("versions: server.json %s, bundle %s, plugin %s", v, m.Version, plugin.Version)
	}
	if p := market.Plugins; len(p) != 1 || p[0].Name != plugin.Name || filepath.Join("..", p[0].Source) != filepath.Join("..", "packaging", "claude-code") {
		t.Errorf("the marketplace names %+v", p)
	}
	var want, got []string
	for _, tool := range load[struct{ Tools []struct{ Name string } }](t, "../tools/testdata/tools.json").Tools {
		want = append(want, tool.Name)
	}
	for _, tool := range m.Tools {
		got = append(got, tool.Name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tools of the bundle:\n%s", d)
	}
}

// TestTheSkillsAreThePrompts: the plugin says what the server's prompts say. The
// reference library of Agent Skills reads them.
func TestTheSkillsAreThePrompts(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"check-failed-run", "babysit-training"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("claude-code", "skills", name)
			file := filepath.Join(dir, "SKILL.md")
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			prompt, err := os.ReadFile(filepath.Join("..", "tools", "prompts", name+".md"))
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := strings.Cut(strings.TrimPrefix(string(b), "---\n"), "\n---\n")
			want := "---\n" + head + "\n---\n\n" + string(prompt)
			if *update {
				if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(want, string(b)); d != "" {
				t.Errorf("%s is stale; run: go test ./packaging -update\n%s", file, d)
			}
			var front struct{ Name, Description string }
			if err := yaml.Unmarshal([]byte(head), &front); err != nil || front.Name != name || len(front.Description) > 1024 || !strings.Contains(front.Description, "Use when") {
				t.Errorf("%v: %+v", err, front)
			}
			need(t, filepath.Join(cache, "trainmedic", "skills-ref-0.1.1", "bin", "agentskills"), "test/skills.sh installs it")
			if out, err := exec.Command(filepath.Join(cache, "trainmedic", "skills-ref-0.1.1", "bin", "agentskills"), "validate", dir).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// need skips where a program is missing that CI installs.
func need(t *testing.T, program, how string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing; %s", program, how)
		}
		t.Skipf("%s is missing; %s", program, how)
	}
}

// TestABundleServes packs the program as a release does, with the bundles' own
// tool, and talks to what a host would start from it.
func TestABundleServes(t *testing.T) {
	if testing.Short() {
		t.Skip("packs a whole program")
	}
	need(t, "npm", "it installs the tool that packs bundles")
	dist := t.TempDir()
	program := filepath.Join(dist, fmt.Sprintf("trainmedic_%s_%s_v1", runtime.GOOS, runtime.GOARCH), "trainmedic")
	for _, argv := range [][]string{{"go", "build", "-ldflags=-s -w", "-o", program, "../cmd/trainmedic"}, {"./release.sh", "1.2.3", dist}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", argv, err, out)
		}
	}
	valid(t, filepath.Join(dist, "server.json"))
	s := load[server](t, filepath.Join(dist, "server.json"))
	if len(s.Packages) != 1 || s.Version != "1.2.3" || s.Packages[0].Version != "1.2.3" {
		t.Fatalf("%+v", s)
	}
	bundle := filepath.Join(dist, filepath.Base(s.Packages[0].Identifier))
	b, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != s.Packages[0].FileSHA256 {
		t.Error("the checksum is another one")
	}

	home := unpack(t, b)
	m := load[manifest](t, filepath.Join(home, "manifest.json"))
	if m.Version != "1.2.3" || m.Server.Type != "binary" {
		t.Errorf("%+v", m)
	}
	c, err := client.NewStdioMCPClient(strings.ReplaceAll(m.Server.Config.Command, "${__dirname}", home), []string{"XDG_STATE_HOME=" + t.TempDir()}, m.Server.Config.Args...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "host", Version: "1"}
	if _, err := c.Initialize(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range m.Tools {
		if !slices.ContainsFunc(list.Tools, func(l mcp.Tool) bool { return l.Name == tool.Name }) {
			t.Errorf("the server has no %s", tool.Name)
		}
	}
}

// unpack writes the files of a bundle, as a host does.
func unpack(t *testing.T, b []byte) string {
	t.Helper()
	dir := t.TempDir()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if f.FileInfo().IsDir() {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		r.Close()
		to := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, text, f.Mode().Perm()|0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
