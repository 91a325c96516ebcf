package workspace

import (
	"net"
	"strings"
	"time"

	"go.uber.org/zap"
)

// User is a person of the workspace.
type User struct {
	ID       string // U…; made from Name when empty
	Name     string // the handle, without @
	RealName string
	Title    string // "Instructor" or "Learner"
	Color    string // CSS colour of the avatar; from a palette when empty
	TZ       string // IANA zone
	Locale   string // "en-US", "ru-RU"
	Admin    bool
	Guest    bool
}

// Channel is a conversation that is there when the workspace starts.
type Channel struct {
	ID      string   // C…; made from Name when empty
	Name    string   // without #
	Topic   string   //
	Private bool     //
	Members []string // names or ids; everybody and the bot when nil
}

// Command is a slash command the app has registered.
type Command struct {
	Name        string // with the slash
	Description string
	UsageHint   string
	Escape      bool         // should_escape of the manifest: names become <@U…|name>
	Completions []Completion // sub-words the page offers while a person types
}

// Completion is one sub-word of a command.
type Completion struct {
	Text        string `json:"text"`
	Description string `json:"description"`
}

// App is the one Slack app installed in the workspace.
type App struct {
	ID            string
	Name          string // display name and handle of the bot user
	Description   string
	Color         string
	BotUserID     string
	BotID         string
	BotToken      string // xoxb-…; a random one when empty
	AppToken      string // xapp-…; a random one when empty
	SigningSecret string // signs requests in HTTP mode; a random one when empty
	Scopes        []string
	Commands      []Command
	Events        []string // bot_events of the manifest
	NoHome        bool     // the Home tab is off: views.publish answers not_enabled
	RequestURL    string   // set: HTTP mode, and Socket Mode is off, as on Slack
}

// Team is the workspace as Slack names it.
type Team struct{ ID, Name, Domain string }

// RateLimits says which of Slack's limits are applied.
type RateLimits struct {
	Off        bool          // no limit at all, for tests of something else
	PostBurst  int           // posts in a row per channel, 3 when zero
	PostEvery  time.Duration // one post per channel, 1 s when zero
	TierFactor float64       // multiplies every tier's calls per minute, 1 when zero
}

// Timing holds Slack's clocks. Zero values are Slack's own; tests shorten them.
type Timing struct {
	Ack     time.Duration    // for commands, clicks, submissions and events: 3 s
	Ping    time.Duration    // between WebSocket pings: 5 s
	Retries [3]time.Duration // before event retries 1 to 3: at once, 1 min, 5 min
	Warning time.Duration    // between a warning disconnect frame and the close: 10 s
	Trigger time.Duration    // life of a trigger_id: 3 s
	Save    time.Duration    // how long changes wait before the state file is written: 500 ms
}

// Options is everything a workspace can be told. The zero value is a class of
// one instructor and four learners on a free loopback port.
type Options struct {
	Addr       string       // "127.0.0.1:0" when empty
	Listener   net.Listener // used instead of Addr when set
	Team       Team
	Users      []User
	Channels   []Channel // the class channel first
	App        App
	Clock      func() time.Time
	RateLimits RateLimits
	Timing     Timing
	StateFile  string // JSON snapshot of the history; empty keeps it in memory only
	Logger     *zap.Logger
}

var palette = []string{"#7a3e9d", "#0b7285", "#b35309", "#2b6a30", "#a61e4d", "#364fc7", "#5f3dc4", "#846358"}

var defaultScopes = []string{
	"app_mentions:read", "channels:history", "channels:join", "channels:manage", "channels:read",
	"chat:write", "commands", "files:read", "files:write", "groups:history", "groups:read", "groups:write",
	"im:history", "im:read", "im:write", "mpim:read", "mpim:history", "mpim:write", "pins:write", "reactions:write",
	"team:read", "usergroups:read", "users:read",
}

func (o *Options) fill() {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	o.Team.ID = or(o.Team.ID, "T0LABTEAM1")
	o.Team.Name = or(o.Team.Name, "Kube Lab")
	o.Team.Domain = or(o.Team.Domain, "kubelab")
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	o.App.fill()
	o.Timing.fill()
	o.RateLimits.fill()
	if len(o.Users) == 0 {
		o.Users = []User{
			{Name: "irina", RealName: "Irina Volkova", Title: "Instructor", TZ: "Europe/Moscow", Locale: "ru-RU", Admin: true},
			{Name: "amir", RealName: "Amir Rahimi", Title: "Learner", TZ: "Asia/Tashkent", Locale: "en-US"},
			{Name: "lena", RealName: "Lena Fischer", Title: "Learner", TZ: "Europe/Berlin", Locale: "en-US"},
			{Name: "maya", RealName: "Maya Okafor", Title: "Learner", TZ: "Africa/Lagos", Locale: "en-US"},
			{Name: "tom", RealName: "Tom Nguyen", Title: "Learner", TZ: "Asia/Bangkok", Locale: "en-US"},
		}
	}
	if len(o.Channels) == 0 {
		o.Channels = []Channel{
			{Name: "k8s-fundamentals", Topic: "Kubernetes fundamentals: labs and questions"},
			{Name: "general", Topic: "Anything about the course"},
		}
	}
	for i := range o.Users {
		u := &o.Users[i]
		u.ID = or(u.ID, madeID("U", u.Name))
		u.RealName = or(u.RealName, u.Name)
		u.Title = or(u.Title, "Learner")
		u.TZ = or(u.TZ, "Etc/UTC")
		u.Locale = or(u.Locale, "en-US")
		u.Color = or(u.Color, palette[i%len(palette)])
	}
	for i := range o.Channels {
		c := &o.Channels[i]
		c.Name = strings.TrimPrefix(c.Name, "#")
		c.ID = or(c.ID, madeID("C", c.Name))
	}
}

func (a *App) fill() {
	a.Name = or(a.Name, "labbot")
	a.ID = or(a.ID, madeID("A", a.Name))
	a.BotUserID = or(a.BotUserID, madeID("U", a.Name))
	a.BotID = or(a.BotID, madeID("B", a.Name))
	a.Color = or(a.Color, "#1f6feb")
	a.BotToken = or(a.BotToken, "xoxb-"+randomWord(24))
	a.AppToken = or(a.AppToken, "xapp-1-"+a.ID+"-"+randomWord(24))
	a.SigningSecret = or(a.SigningSecret, randomHex(32))
	if a.Scopes == nil {
		a.Scopes = defaultScopes
	}
	if a.Commands == nil {
		a.Commands = []Command{{Name: "/lab", Description: "Run a lab", UsageHint: "[help | list | SCENARIO]"}}
	}
	if a.Events == nil {
		a.Events = []string{"app_mention", "app_home_opened", "member_joined_channel", "message.im"}
	}
}

func (t *Timing) fill() {
	t.Ack = orDuration(t.Ack, 3*time.Second)
	t.Ping = orDuration(t.Ping, 5*time.Second)
	t.Warning = orDuration(t.Warning, 10*time.Second)
	t.Trigger = orDuration(t.Trigger, 3*time.Second)
	t.Save = orDuration(t.Save, 500*time.Millisecond)
	if t.Retries == [3]time.Duration{} {
		t.Retries = [3]time.Duration{0, time.Minute, 5 * time.Minute}
	}
}

func (r *RateLimits) fill() {
	r.PostEvery = orDuration(r.PostEvery, time.Second)
	if r.PostBurst == 0 {
		r.PostBurst = 3
	}
	if r.TierFactor == 0 {
		r.TierFactor = 1
	}
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

func orDuration(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}
