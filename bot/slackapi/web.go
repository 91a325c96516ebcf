// Package slackapi is the bot's only way to Slack: Socket Mode in, Web API out.
//
// Every call has a deadline and waits its turn under Slack's rate limits. A call
// is repeated by this package only when Slack says that it did not happen (HTTP
// 429); whether anything else may be repeated is for the caller to know, who can
// ask Maybe.
package slackapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/slack-go/slack"
	"go.uber.org/zap"

	"labbot/bot/board"
	"labbot/bot/lab"
)

// Options configure a Client. URL is the base of the Web API and ends with a
// slash; empty means Slack itself.
type Options struct {
	BotToken string
	AppToken string
	URL      string
	Logger   *zap.Logger
}

// callTimeout bounds one HTTP exchange with Slack, retries excluded.
const callTimeout = 10 * time.Second

// Client calls the Web API for one workspace.
type Client struct {
	api     *slack.Client
	limiter *limiter
	logger  *zap.Logger
}

// New returns a Client. It makes no call.
func New(o Options) *Client {
	opts := []slack.Option{
		slack.OptionHTTPClient(&http.Client{Timeout: callTimeout}),
		slack.OptionAppLevelToken(o.AppToken),
	}
	if o.URL != "" {
		opts = append(opts, slack.OptionAPIURL(o.URL))
	}
	return &Client{api: slack.New(o.BotToken, opts...), limiter: newLimiter(), logger: o.Logger.Named("slack")}
}

// Identity is who the bot is in its workspace.
type Identity struct {
	UserID lab.UserID
	BotID  string
	Team   string
	User   string
}

// Identity asks Slack who the token belongs to.
func (c *Client) Identity(ctx context.Context) (Identity, error) {
	var id Identity
	err := c.call(ctx, "auth.test", "", func(ctx context.Context) error {
		a, err := c.api.AuthTestContext(ctx)
		if err == nil {
			id = Identity{UserID: lab.UserID(a.UserID), BotID: a.BotID, Team: a.Team, User: a.User}
		}
		return err
	})
	return id, err
}

// metaType is the metadata event_type of every message of a run.
const metaType = "labbot_run"

func options(m board.Message, meta map[string]any) []slack.MsgOption {
	opts := []slack.MsgOption{
		slack.MsgOptionText(m.Text, false),
		slack.MsgOptionBlocks(m.Blocks...), // always: without blocks an update keeps the old ones
		slack.MsgOptionParse(false),        // chat.update would find names and links by itself
		slack.MsgOptionLinkNames(false),    // so that evidence cannot call anybody
		slack.MsgOptionDisableLinkUnfurl(),
		slack.MsgOptionDisableMediaUnfurl(),
	}
	if meta != nil {
		opts = append(opts, slack.MsgOptionMetadata(slack.SlackMetadata{EventType: metaType, EventPayload: meta}))
	}
	return opts
}

// Post posts a message, into the thread of parent unless that is empty. The
// content is asked for when it is this call's turn, so it is never an old one.
// meta marks the message so that Find finds it after an answer was lost; it is
// readable by every app of the workspace.
func (c *Client) Post(ctx context.Context, ch lab.ChannelID, parent lab.TS, meta map[string]any, content func() board.Message) (lab.TS, error) {
	var ts string
	err := c.call(ctx, "chat.postMessage", ch, func(ctx context.Context) (err error) {
		opts := options(content(), meta)
		if parent != "" {
			opts = append(opts, slack.MsgOptionTS(string(parent)))
		}
		_, ts, err = c.api.PostMessageContext(ctx, string(ch), opts...)
		return err
	})
	return lab.TS(ts), err
}

// Update replaces one of the bot's own messages, asking for the content when it
// is this call's turn.
func (c *Client) Update(ctx context.Context, ch lab.ChannelID, ts lab.TS, meta map[string]any, content func() board.Message) error {
	return c.call(ctx, "chat.update", ch, func(ctx context.Context) error {
		_, _, _, err := c.api.UpdateMessageContext(ctx, string(ch), string(ts), options(content(), meta)...)
		return err
	})
}

// Ephemeral shows a message to one person only.
func (c *Client) Ephemeral(ctx context.Context, ch lab.ChannelID, user lab.UserID, parent lab.TS, m board.Message) error {
	opts := options(m, nil)
	if parent != "" {
		opts = append(opts, slack.MsgOptionTS(string(parent)))
	}
	return c.call(ctx, "chat.postEphemeral", ch, func(ctx context.Context) error {
		_, err := c.api.PostEphemeralContext(ctx, string(ch), string(user), opts...)
		return err
	})
}

// OpenModal opens a view for the person behind the trigger, which lives for 3 s
// and works once. It returns the view's id.
func (c *Client) OpenModal(ctx context.Context, trigger string, view slack.ModalViewRequest) (string, error) {
	var id string
	err := c.call(ctx, "views.open", "", func(ctx context.Context) error {
		v, err := c.api.OpenViewContext(ctx, trigger, view)
		if err == nil {
			id = v.ID
		}
		return err
	})
	return id, err
}

// UpdateModal replaces the content of an open view.
func (c *Client) UpdateModal(ctx context.Context, id string, view slack.ModalViewRequest) error {
	return c.call(ctx, "views.update", "", func(ctx context.Context) error {
		_, err := c.api.UpdateViewContext(ctx, view, "", "", id)
		return err
	})
}

// Upload shares a text file in the thread of parent.
func (c *Client) Upload(ctx context.Context, ch lab.ChannelID, parent lab.TS, name, title, body string) (string, error) {
	var id string
	err := c.call(ctx, "files.upload", ch, func(ctx context.Context) error {
		f, err := c.api.UploadFileContext(ctx, slack.UploadFileParameters{
			Filename: name, Title: title, Content: body, FileSize: len(body),
			Channel: string(ch), ThreadTimestamp: string(parent),
		})
		if err == nil {
			id = f.ID
		}
		return err
	})
	return id, err
}

// Find looks for a message of the bot whose metadata holds every pair of want:
// in the thread of parent, or in the channel after oldest when parent is empty.
// It reads at most maxPages pages.
func (c *Client) Find(ctx context.Context, ch lab.ChannelID, parent lab.TS, oldest time.Time, want map[string]any) (lab.TS, bool, error) {
	cursor := ""
	for range maxPages {
		msgs, next, err := c.page(ctx, ch, parent, oldest, cursor)
		if err != nil {
			return "", false, err
		}
		for _, m := range msgs {
			if matches(m.Metadata, want) {
				return lab.TS(m.Timestamp), true, nil
			}
		}
		if next == "" {
			return "", false, nil
		}
		cursor = next
	}
	return "", false, nil
}

const maxPages = 10

func (c *Client) page(ctx context.Context, ch lab.ChannelID, parent lab.TS, oldest time.Time, cursor string) ([]slack.Message, string, error) {
	var msgs []slack.Message
	var next string
	from := fmt.Sprintf("%d.000000", oldest.Unix())
	if parent != "" {
		err := c.call(ctx, "conversations.replies", ch, func(ctx context.Context) (err error) {
			msgs, _, next, err = c.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
				ChannelID: string(ch), Timestamp: string(parent), Cursor: cursor, Limit: 200, IncludeAllMetadata: true})
			return err
		})
		return msgs, next, err
	}
	err := c.call(ctx, "conversations.history", ch, func(ctx context.Context) error {
		h, err := c.api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{
			ChannelID: string(ch), Oldest: from, Cursor: cursor, Limit: 200, IncludeAllMetadata: true})
		if err == nil {
			msgs, next = h.Messages, h.ResponseMetaData.NextCursor
		}
		return err
	})
	return msgs, next, err
}

func matches(m slack.SlackMetadata, want map[string]any) bool {
	if m.EventType != metaType {
		return false
	}
	for k, v := range want {
		if fmt.Sprint(m.EventPayload[k]) != fmt.Sprint(v) {
			return false
		}
	}
	return true
}

// Member tells whether the bot is a member of the channel.
func (c *Client) Member(ctx context.Context, ch lab.ChannelID) (bool, error) {
	member := false
	err := c.call(ctx, "conversations.info", "", func(ctx context.Context) error {
		info, err := c.api.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: string(ch)})
		if err == nil {
			member = info.IsMember || info.IsIM
		}
		return err
	})
	var e *Error
	if errors.As(err, &e) && e.Code == "channel_not_found" {
		return false, nil // private, and the bot is not in it: Slack does not tell these apart
	}
	return member, err
}

// call waits for the limiter, makes the call, and repeats it after a 429.
func (c *Client) call(ctx context.Context, method string, ch lab.ChannelID, do func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		if err := c.limiter.wait(ctx, method, ch); err != nil {
			return fmt.Errorf("%s: waiting for the rate limit: %w", method, err)
		}
		one, cancel := context.WithTimeout(ctx, callTimeout)
		err := do(one)
		cancel()
		var limited *slack.RateLimitedError
		if !errors.As(err, &limited) || attempt == maxAttempts {
			return wrap(method, err)
		}
		c.logger.Warn("rate limited", zap.String("method", method), zap.Duration("retry_after", limited.RetryAfter))
		c.limiter.pause(method, ch, limited.RetryAfter)
	}
}

const maxAttempts = 5
