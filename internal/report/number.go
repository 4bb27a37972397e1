package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Number is a float64 whose non-finite values are the JSON strings "NaN",
// "Infinity" and "-Infinity".
type Number float64

// MarshalJSON writes finite values as numbers and the others as strings.
func (n Number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	switch {
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(b []byte) error {
	s := string(b)
	if q, err := strconv.Unquote(s); err == nil {
		s = q
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("report: number %.40q: %w", s, err)
	}
	*n = Number(f)
	return nil
}
