//go:build race

package monitor_test

// slowly says that the race detector makes everything several times slower.
const slowly = true
