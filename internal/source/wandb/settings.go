package wandb

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/trainmedic/trainmedic/internal/source"
)

const publicServer = "https://api.wandb.ai"

// settings are where the service is and who asks.
type settings struct {
	base            string
	key, keyFrom    string
	entity, project string
}

// readSettings finds them where the client does: the environment, wandb/settings
// in this folder, the user's settings, ~/.netrc. host is that of a run's URL, ""
// where none was given.
func readSettings(host string) (settings, error) {
	files := map[string]string{}
	home, _ := os.UserHomeDir()
	dir := os.Getenv("WANDB_CONFIG_DIR")
	if dir == "" {
		dir = filepath.Join(home, ".config", "wandb")
	}
	for _, p := range []string{filepath.Join(dir, "settings"), filepath.Join("wandb", "settings"), filepath.Join(".wandb", "settings")} {
		readINI(p, files)
	}
	pick := func(env, key string) string {
		if v := os.Getenv(env); v != "" {
			return v
		}
		return files[key]
	}
	s := settings{base: pick("WANDB_BASE_URL", "base_url"), entity: pick("WANDB_ENTITY", "entity"), project: pick("WANDB_PROJECT", "project")}
	if s.base == "" {
		s.base = publicServer
	}
	if host != "" && !sameServer(s.base, host) {
		s.base = serverOf(host)
	}
	u, err := url.Parse(s.base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return s, fmt.Errorf("wandb: the server's address (WANDB_BASE_URL or base_url) is not a URL: %w", source.ErrBadTarget)
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	s.base = strings.TrimRight(u.String(), "/")
	if s.key, s.keyFrom = os.Getenv("WANDB_API_KEY"), "WANDB_API_KEY"; s.key == "" {
		s.key, s.keyFrom = netrcKey(home, u.Host)
	}
	if s.key == "" {
		return s, fmt.Errorf("wandb: no API key for %s: set WANDB_API_KEY, or run `wandb login`; the folder of the run (wandb/run-…) needs none: %w", u.Host, source.ErrDenied)
	}
	return s, nil
}

// sameServer reports whether a run's page is of a server. The public one has its
// pages and its API under two names.
func sameServer(base, host string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Host == host || u.Host == "api.wandb.ai" && (host == "wandb.ai" || host == "www.wandb.ai" || host == "app.wandb.ai"))
}

func serverOf(host string) string {
	if strings.TrimPrefix(strings.TrimPrefix(host, "www."), "app.") == "wandb.ai" {
		return publicServer
	}
	return "https://" + host
}

// readINI adds the [default] settings of a file; a file that cannot be read has
// none.
func readINI(path string, into map[string]string) {
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	section := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		i := strings.IndexAny(line, "=:")
		if i > 0 && section == "default" && line[0] != '#' && line[0] != ';' {
			into[strings.ToLower(strings.TrimSpace(line[:i]))] = strings.TrimSpace(line[i+1:])
		}
	}
}

// netrcKey is the password of a host in the user's netrc file.
func netrcKey(home, host string) (key, from string) {
	path := os.Getenv("NETRC")
	if path == "" {
		path = filepath.Join(home, ".netrc")
		if _, err := os.Stat(path); err != nil || runtime.GOOS == "windows" {
			path = filepath.Join(home, "_netrc")
		}
	}
	f, err := os.Open(expand(path))
	if err != nil {
		return "", ""
	}
	defer f.Close()
	words := bufio.NewScanner(f)
	words.Split(bufio.ScanWords)
	mine := false
	for words.Scan() {
		switch words.Text() {
		case "machine":
			mine = words.Scan() && words.Text() == host
		case "default":
			mine = true
		case "password":
			if words.Scan() && mine {
				return words.Text(), path
			}
		case "login", "account":
			words.Scan()
		}
	}
	return "", ""
}
