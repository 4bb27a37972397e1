package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// healthy is the log of a run that did not fail.
type healthy struct {
	path, name string
	answer     answer
	err        error
}

// loadLogs finds all files of a folder that are no document.
func loadLogs(root string) ([]healthy, error) {
	var all []healthy
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		document := slices.Contains([]string{".md", ".json", ".tsv"}, filepath.Ext(p)) || strings.HasPrefix(e.Name(), "LICEN") || strings.HasPrefix(e.Name(), ".")
		if err != nil || !e.Type().IsRegular() || document {
			return err
		}
		name, err := filepath.Rel(root, p)
		all = append(all, healthy{path: p, name: name})
		return err
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no log in %s", root)
	}
	return all, err
}

func healthyTable(logs []healthy) string {
	var b strings.Builder
	var alarms, errs share
	var rows []string
	for _, l := range logs {
		errs.add(l.err != nil)
		alarm := l.err == nil && l.answer.Primary != none
		if l.err == nil {
			alarms.add(alarm)
		}
		switch {
		case l.err != nil:
			rows = append(rows, fmt.Sprintf("| %s | %v | |\n", l.name, l.err))
		case alarm:
			rows = append(rows, fmt.Sprintf("| %s | %s (%s) | %s |\n", l.name, l.answer.Primary, l.answer.Status, l.proof()))
		}
	}
	fmt.Fprintf(&b, "| figure | value |\n|---|---|\n| false alarms | %v |\n| no answer | %v |\n", alarms, errs)
	if len(rows) > 0 {
		b.WriteString("\n| log | taken for | proof |\n|---|---|---|\n" + strings.Join(rows, ""))
	}
	return b.String()
}

func (l healthy) proof() string {
	if len(l.answer.Evidence) == 0 {
		return ""
	}
	return fmt.Sprintf("line %d", l.answer.Evidence[0].Line)
}
