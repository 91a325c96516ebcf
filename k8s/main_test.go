package k8s

import (
	"os"
	"testing"

	"labbot/k8s/clustertest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Main(m)) }
