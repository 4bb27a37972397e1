package references_test

import (
	"fmt"
	"strings"

	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	sources "github.com/trainmedic/trainmedic/internal/source/all"
)

// classTable has one row for each class of failure, and what the catalogue
// knows of it.
func classTable(b *failure.Book) string {
	s := head("Class", "Severity", "What it is", "Signatures: cause / symptom / context / benign", "Detectors", "Causes", "Some of its lines give way to")
	for _, c := range b.Classes {
		if c.ID == report.None {
			continue
		}
		n := map[report.Role]int{}
		for _, sign := range c.Signatures {
			n[sign.Role]++
		}
		s += row(code(string(c.ID)), string(c.Severity), c.Doc,
			fmt.Sprintf("%d / %d / %d / %d", n[report.RoleCause], n[report.RoleSymptom], n[report.RoleContext], n[report.RoleBenign]),
			fmt.Sprint(len(c.Detectors)), fmt.Sprint(len(c.Causes)), codes(givesWayTo(c)))
	}
	return s
}

// givesWayTo are the classes that explain some line of the class away.
func givesWayTo(c *failure.Class) []report.Class {
	yields := map[report.Class]bool{}
	for _, id := range c.YieldsTo {
		yields[id] = true
	}
	for _, sign := range c.Signatures {
		for _, id := range sign.YieldsTo {
			yields[id] = true
		}
	}
	var out []report.Class
	for _, id := range report.Classes {
		if yields[id] {
			out = append(out, id)
		}
	}
	return out
}

func detectorTable(b *failure.Book) string {
	s := head("Class", "Detector", "What it finds")
	for _, c := range b.Classes {
		for _, d := range c.Detectors {
			s += row(code(string(c.ID)), code(d.Name), d.Doc)
		}
	}
	return s
}

// signatureTable lists the signatures of a class in the order of their files.
func signatureTable(c *failure.Class) string {
	s := head("Signature", "Role", "Weight", "What the line says", "Wording from")
	for _, sign := range c.Signatures {
		weight := ""
		if sign.Weight > 0 {
			weight = fmt.Sprintf("%.2g", sign.Weight)
		}
		role := string(sign.Role)
		if sign.Sticky {
			role += ", sticky"
		}
		s += row(code(sign.ID), role, weight, sign.Says, sign.From)
	}
	return s
}

// causeTable lists the causes of a class with what to do about each.
func causeTable(c *failure.Class) string {
	s := head("Cause", "Root cause", "Fixes and their risk; the report ranks them")
	for _, k := range c.Causes {
		s += row(code(k.Name), k.Root, fixList(k.Fixes))
	}
	if len(c.Fixes) > 0 {
		s += row("*any other*", "No cause of the class applies; the report then states what the proving line says.", fixList(c.Fixes))
	}
	return s
}

func fixList(fixes []report.Fix) string {
	if len(fixes) == 0 {
		return "those of *any other*"
	}
	var out []string
	for i, f := range fixes {
		text := fmt.Sprintf("%d. %s (%s)", i+1, strings.TrimRight(f.Action, "."), f.Risk)
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// formTable lists the targets that this version can look at.
func formTable() string {
	s := head("Scheme", "`target_type`", "Example", "What it is")
	for _, k := range sources.Kinds() {
		s += row(code(k.Scheme+":"), code(k.Type), code(k.Example), k.Doc)
	}
	return s
}
