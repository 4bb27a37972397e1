//go:build !race

package monitor_test

const slowly = false
