package wandb

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/trainmedic/trainmedic/internal/source"
)

// path names a run at the service; entity and project may be empty.
// server is the host of the run's page, "" where none was given.
type path struct{ server, entity, project, id string }

// parsePath reads what names a run: id, project/id, entity/project/id,
// entity/project/runs/id, entity/project:id, project:id, or the URL of its page.
func parsePath(ref string) (path, error) {
	bad := func() (path, error) {
		return path{}, fmt.Errorf("wandb: %q names no run; say entity/project/run, its URL, or the folder wandb/run-…: %w", ref, source.ErrBadTarget)
	}
	var p path
	name := strings.TrimSpace(ref)
	if strings.Contains(name, "://") {
		u, err := url.Parse(name)
		if err != nil || u.Host == "" {
			return path{}, fmt.Errorf("wandb: the URL of the run cannot be read: %w", source.ErrBadTarget)
		}
		p.server, name = u.Host, u.Path
	}
	parts := strings.Split(strings.Trim(name, "/ "), "/")
	if i := len(parts) - 1; i < 2 && strings.Contains(parts[i], ":") { // entity/project:id, project:id
		project, id, _ := strings.Cut(parts[i], ":")
		parts = append(parts[:i], project, id)
	}
	if p.server != "" && len(parts) > 4 {
		parts = parts[:4] // a tab of the page: …/runs/ID/logs
	}
	switch {
	case len(parts) == 4 && parts[2] == "runs":
		p.entity, p.project, p.id = parts[0], parts[1], parts[3]
	case len(parts) == 3 && parts[1] != "runs":
		p.entity, p.project, p.id = parts[0], parts[1], parts[2]
	case len(parts) == 3:
		p.project, p.id = parts[0], parts[2]
	case len(parts) == 2 && p.server == "":
		p.project, p.id = parts[0], parts[1]
	case len(parts) == 1 && p.server == "":
		p.id = parts[0]
	default:
		return bad()
	}
	for _, s := range []string{p.entity, p.project, p.id} {
		if strings.ContainsAny(s, " \t\n\"'?#") {
			return bad()
		}
	}
	if p.id == "" || p.id == "runs" {
		return bad()
	}
	return p, nil
}

func (p path) String() string {
	return strings.Trim(p.entity+"/"+p.project+"/"+p.id, "/")
}
