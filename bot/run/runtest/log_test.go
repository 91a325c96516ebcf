package runtest

import (
	"testing"

	"labbot/bot/run"
)

func TestFakeLog(t *testing.T) {
	TestLog(t, func(*testing.T) run.Log { return NewLog() })
}
