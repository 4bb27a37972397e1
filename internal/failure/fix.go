package failure

import "github.com/trainmedic/trainmedic/internal/report"

// Look is a safe, read-only step that narrows the cause down and leaves it in
// place; cmd is the exact command for it, "" when there is none.
func Look(action, impact, validate, cmd string, seconds int, confidence float64) report.Fix {
	f := report.Fix{
		Action: action, Risk: report.Safe, ExpectedImpact: impact, Validate: validate, TimeToTrySeconds: seconds,
		Confidence: confidence, Impact: 0.45, Reversible: true, LeavesCause: true,
	}
	if cmd != "" {
		f.Command = &cmd
	}
	return f
}

// Change is a reversible step that alters code, data or settings and therefore
// needs a person's approval; gain is how much of the problem it removes, 0..1.
func Change(action, impact, validate string, seconds int, confidence, gain float64) report.Fix {
	return report.Fix{
		Action: action, Risk: report.NeedsApproval, ExpectedImpact: impact, Validate: validate, TimeToTrySeconds: seconds,
		Confidence: confidence, Impact: gain, Reversible: true,
	}
}
