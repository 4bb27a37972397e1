// Command gen writes the synthetic log of a training run to standard output:
// the same bytes for the same flags on every machine of one architecture.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	kind := flag.String("kind", "main", "one of: "+strings.Join(kindNames(), ", "))
	format := flag.String("format", "", "for pure, the only format (all of them when not given): "+strings.Join(formatNames(), ", "))
	size := flag.Int64("size", 1e9, "bytes to write, nearly")
	seed := flag.Uint64("seed", 1, "of the random numbers")
	flag.Parse()
	if err := write(os.Stdout, spec{*kind, *format, *size, *seed}); err != nil {
		fmt.Fprintf(os.Stderr, "gen: %v\n", err)
		os.Exit(1)
	}
}
