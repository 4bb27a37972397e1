package export

import (
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// ps reads ps in any selection of columns, by its heading; the command is the
// last column and takes the rest of the line.
func ps(t *Text) (f Found) {
	var cols []string
	for i, l := range t.Lines {
		w := strings.Fields(l)
		if c := psHeading(w); c != nil {
			cols = c
			continue
		}
		if cols == nil || len(w) < len(cols) {
			continue
		}
		if p, ok := psRow(w, cols); ok {
			p.Ref = t.Ref(i + 1)
			if len(f.Processes) < maxFound {
				f.Processes = append(f.Processes, p)
			}
		}
	}
	return f
}

func psHeading(w []string) []string {
	pid := false
	for _, c := range w {
		pid = pid || c == "PID"
	}
	if !pid || len(w) < 2 {
		return nil
	}
	switch w[len(w)-1] {
	case "CMD", "COMMAND", "ARGS":
		return w
	}
	return nil
}

func psRow(w, cols []string) (p run.Process, ok bool) {
	for i, c := range cols {
		v := w[i]
		switch c {
		case "PID":
			n, err := strconv.Atoi(v)
			if err != nil {
				return p, false
			}
			p.PID = n
		case "PPID":
			p.PPID, _ = strconv.Atoi(v)
		case "STAT", "S":
			p.State = v
		case "WCHAN":
			p.WChan = strings.Trim(v, "-")
		case "%CPU", "C":
			p.CPU, _ = strconv.ParseFloat(v, 64)
		case "RSS", "RES":
			p.RSS, _ = bytesOf(v, 1<<10)
		}
	}
	p.Command = strings.Join(w[len(cols)-1:], " ")
	return p, p.PID > 0
}
