package bot

import (
	"context"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
)

// Envelope is one thing that Slack delivered. One of the pointers is set.
type Envelope struct {
	ID          string
	At          time.Time // when it reached the bot
	Command     *slack.SlashCommand
	Interaction *slack.InteractionCallback
	Event       *slackevents.EventsAPIEvent
}

// Handler takes an envelope and returns the payload of its ack, nil for a bare
// one. Its context ends shortly before the person would see a failure.
type Handler func(ctx context.Context, e Envelope) (ack any)
