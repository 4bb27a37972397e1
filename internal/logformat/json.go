package logformat

// jsonLine reads a line that is one JSON object: metrics as members, nested or
// not, or an entry of Cloud Logging whose message is the program's own line.
// MLPerf's ":::MLLOG {…}" is one too.
func (r *Reader) jsonLine(l line, out *Reading) bool {
	b := skipSpace(l.b)
	mllog := has(b, mllogMark)
	if mllog {
		b = skipSpace(b[len(mllogMark):])
	}
	if len(b) < 8 || b[0] != '{' || b[1] != '"' && b[1] != ' ' {
		return false
	}
	if mllog {
		return r.mllog(b, out)
	}
	msg, ok := message(b)
	if !ok || r.depth > 0 {
		return false
	}
	buf := r.unquote(msg)
	if len(buf) == 0 {
		return false
	}
	r.depth++
	in, ok := r.Line(buf)
	r.depth--
	r.lesson.given = false
	if len(r.family) == 0 && ok && in.Progress && in.Format != general {
		r.family = in.Format
	}
	if !ok {
		return false
	}
	if in.Time.IsZero() {
		in.Time = jsonTime(b)
	}
	*out = in
	return true
}

// messageKeys are the members of a log entry that hold the program's line.
var messageKeys = [...]string{`"textPayload":`, `"message":`, `"log":`, `"msg":`, `"MESSAGE":`}

// message is the quoted text of the entry's line, if it looks like one.
func message(b []byte) ([]byte, bool) {
	for _, k := range messageKeys {
		rest, ok := after(b, k)
		if !ok {
			continue
		}
		rest = skipSpace(rest)
		if len(rest) < 2 || rest[0] != '"' {
			continue
		}
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return rest[1:i], i > 8
			}
		}
	}
	return nil, false
}

// unquote undoes the escapes of a JSON string into the reader's buffer.
func (r *Reader) unquote(b []byte) []byte {
	out := r.textBuf[:0]
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 >= len(b) {
			out = append(out, b[i])
			continue
		}
		switch i++; b[i] {
		case 'n', 'r':
			out = append(out, ' ')
		case 't':
			out = append(out, '\t')
		case 'u':
			out = append(out, 0xe2) // all that matters of it is that it is no ASCII
			i = min(i+4, len(b)-1)
		default:
			out = append(out, b[i])
		}
	}
	r.textBuf = out
	r.cleanBuf = Clean(r.cleanBuf[:0], out)
	p := ParsePrefix(r.cleanBuf)
	return r.cleanBuf[p.Len:]
}
