package run

import (
	"labbot/bot/lab"
	"labbot/bot/text"
)

// Refusal says why a request was not taken, in words for the person behind it.
type Refusal struct {
	// Why is shown in Slack.
	Why lab.Text
	// Cause is for the log; it may be nil.
	Cause error
}

// Error gives the English text.
func (r *Refusal) Error() string {
	if r.Cause != nil {
		return r.Why.EN + " (" + r.Cause.Error() + ")"
	}
	return r.Why.EN
}

// Unwrap gives the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// Reply gives the text for the person.
func (r *Refusal) Reply(lang lab.Lang) string { return r.Why.In(lang) }

func refuse(cause error, key string, args ...any) *Refusal {
	return &Refusal{Why: text.Both(key, args...), Cause: cause}
}
