// Package e2e holds the stories that the built labcluster binary must tell.
//
// The tests start the binary that LABCLUSTER_BIN names and look at it through
// client-go only. Without the variable they are skipped, or fail when
// LABCLUSTER_REQUIRED is set, as `make test` does.
package e2e
