// Package sshconfig is what the ssh_config files of a user say of one host, as
// OpenSSH reads them. What it would take running a program or asking the network
// to find out is not found out, and said.
package sshconfig

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of what a configuration may hold, so that a circle of Includes ends.
const (
	maxIncludes = 16
	maxConfig   = 1 << 20
)

// Config is what the files say of one host: the first value of a keyword counts,
// and all values of those that add up.
type Config struct {
	values map[string][]string // keyword in lower case
	// System says why only the system's own ssh can do what the files ask for;
	// "" when nothing of the kind stands there.
	System string
}

// adds are the keywords of which every line counts.
var adds = map[string]bool{"identityfile": true, "certificatefile": true}

// Get is the first value of a keyword, which is in lower case; "" if it has none.
func (c *Config) Get(key string) string {
	if v := c.values[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// All are the values of a keyword, nil if it is not set.
func (c *Config) All(key string) []string { return c.values[key] }

// Yes reports whether a keyword is set to yes.
func (c *Config) Yes(key string) bool { return strings.EqualFold(c.Get(key), "yes") }

// reader reads ssh_config files for one host.
type reader struct {
	Config
	alias, user, local string // as given: the host, its user ("" if none), and who runs this
	home               string
}

// Asked is whom the files are read for.
type Asked struct {
	Home, Local string // of the user who runs this: the folder and the name
	Host, User  string // as they were asked for; User may be ""
}

// Read reads the files in order, those that are not there passed over.
func Read(a Asked, files ...string) (Config, error) {
	r := &reader{Config: Config{values: map[string][]string{}}, alias: a.Host, user: a.User, local: a.Local, home: a.Home}
	for _, f := range files {
		if err := r.file(f, filepath.Dir(f), 0); err != nil && !os.IsNotExist(err) {
			return r.Config, err
		}
	}
	return r.Config, nil
}

// file reads one file, or what it includes. dir is what names of Include are
// relative to.
func (r *reader) file(name, dir string, depth int) error {
	if depth > maxIncludes {
		return fmt.Errorf("%s: more than %d files include each other", name, maxIncludes)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if len(b) > maxConfig {
		return fmt.Errorf("%s: is larger than %d MB", name, maxConfig>>20)
	}
	return r.text(string(b), name, dir, depth)
}

func (r *reader) text(text, name, dir string, depth int) error {
	active := true
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, maxConfig+1)
	for n := 1; s.Scan(); n++ {
		key, args, err := words(s.Text())
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		switch {
		case key == "":
		case len(args) == 0:
			return fmt.Errorf("%s:%d: %s has no value", name, n, key)
		case key == "host":
			active = among(args, r.alias)
		case key == "match":
			active = r.matches(args)
		case !active:
		case key == "include":
			for _, a := range args {
				if err := r.include(a, dir, depth); err != nil {
					return err
				}
			}
		case adds[key] || r.values[key] == nil:
			r.values[key] = append(r.values[key], args...)
		}
	}
	return s.Err()
}

// include reads what a pattern names; what cannot be read is passed over, as ssh
// does it.
func (r *reader) include(pattern, dir string, depth int) error {
	pattern = Tilde(pattern, r.home)
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(dir, pattern)
	}
	found, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("include %s: %w", pattern, err)
	}
	for _, f := range found {
		if err := r.file(f, dir, depth+1); err != nil && !os.IsNotExist(err) && !os.IsPermission(err) {
			return err
		}
	}
	return nil
}

// matches evaluates the criteria of a Match line, all of which must hold. What
// has to be run or looked up on the network is left to the system's ssh.
func (r *reader) matches(args []string) bool {
	ok := true
	for len(args) > 0 && ok {
		name := strings.ToLower(args[0])
		name, not := strings.CutPrefix(name, "!")
		args = args[1:]
		if name == "all" {
			ok = !not
			continue
		}
		var arg string
		if name != "canonical" && name != "final" && len(args) > 0 {
			arg, args = args[0], args[1:]
		}
		var hit bool
		patterns := strings.Split(arg, ",")
		switch name {
		case "host":
			hit = among(patterns, cmp.Or(r.Get("hostname"), r.alias))
		case "originalhost":
			hit = among(patterns, r.alias)
		case "user":
			hit = among(patterns, cmp.Or(r.user, r.Get("user"), r.local))
		case "localuser":
			hit = among(patterns, r.local)
		default:
			if r.System == "" {
				r.System = "Match " + name
			}
			return false
		}
		ok = hit != not
	}
	return ok
}

// words splits a line into its keyword, in lower case, and its arguments: as ssh
// reads it, with one = or white space behind the keyword, and double quotes.
func words(line string) (key string, args []string, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", nil, nil
	}
	i := strings.IndexAny(line, " \t=")
	if i < 0 {
		return strings.ToLower(line), nil, nil
	}
	key, line = strings.ToLower(line[:i]), strings.TrimLeft(line[i:], " \t")
	line = strings.TrimLeft(strings.TrimPrefix(line, "="), " \t")
	if key == "proxycommand" || key == "localcommand" || key == "remotecommand" {
		return key, []string{line}, nil // the rest of the line is one argument
	}
	for line != "" && line[0] != '#' {
		var word string
		if line[0] == '"' {
			end := strings.IndexByte(line[1:], '"')
			if end < 0 {
				return "", nil, fmt.Errorf("%s: a quote is not closed", key)
			}
			word, line = line[1:end+1], line[end+2:]
		} else {
			end := strings.IndexAny(line, " \t")
			if end < 0 {
				end = len(line)
			}
			word, line = line[:end], line[end:]
		}
		args = append(args, word)
		line = strings.TrimLeft(line, " \t")
	}
	return key, args, nil
}

// among reports whether a name is matched by a list of patterns: none of those
// that are negated matches, and one of the others does.
func among(patterns []string, name string) bool {
	hit := false
	for _, p := range patterns {
		p, not := strings.CutPrefix(p, "!")
		if !wild(strings.ToLower(p), strings.ToLower(name)) {
			continue
		}
		if not {
			return false
		}
		hit = true
	}
	return hit
}

// wild matches a pattern in which * is any text and ? any one byte.
func wild(pattern, name string) bool {
	star, back := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			back++
			p, n = star+1, back
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Tilde puts the home in the place of a leading ~.
func Tilde(p, home string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		return filepath.Join(home, strings.TrimPrefix(p, "~"))
	}
	return p
}
