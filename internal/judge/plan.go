package judge

import (
	"fmt"
	"sort"

	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

var riskCost = map[report.Risk]float64{report.Safe: 1, report.NeedsApproval: 1.5, report.Dangerous: 4}

// plan ranks the fixes of the cause, else of the class: impact × confidence /
// risk, and of equals the quick and reversible first.
func plan(c *failure.Class, cause *failure.Cause) []report.Fix {
	fixes := append([]report.Fix{}, c.Fixes...)
	if cause != nil && len(cause.Fixes) > 0 {
		fixes = append([]report.Fix{}, cause.Fixes...)
	}
	sort.SliceStable(fixes, func(i, j int) bool { return worth(fixes[i]) > worth(fixes[j]) })
	for i := range fixes {
		fixes[i].ID = fmt.Sprintf("fix-%d", i+1)
	}
	return fixes
}

func worth(f report.Fix) float64 {
	w := f.Impact * f.Confidence / riskCost[f.Risk]
	if f.LeavesCause {
		w *= 0.8
	}
	if f.Reversible {
		w *= 1.1
	}
	if f.TimeToTrySeconds > 3600 {
		w *= 0.8
	}
	return w
}

// decide follows the contract: GO when the first fix is safe, CONDITIONAL when
// a safe step exists but leaves the cause in place, else NO-GO.
func decide(fixes []report.Fix) report.Decision {
	if len(fixes) > 0 && fixes[0].Risk == report.Safe && !fixes[0].LeavesCause {
		return report.Go
	}
	for _, f := range fixes {
		if f.Risk == report.Safe && f.LeavesCause {
			return report.Conditional
		}
	}
	return report.NoGo
}
