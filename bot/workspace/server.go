// Package workspace is a Slack-compatible workspace on loopback: the Web API,
// Socket Mode and HTTP delivery that an app meets, and a control API and
// browser page that stand for the people in it.
//
// It imports nothing of labbot and nothing of slack-go, so that the bot and the
// server it is tried against cannot share a mistake. What Slack refuses is
// refused here in Slack's own words; where Slack's rule is not published the
// stricter reading holds.
//
// One mutex guards all state. A handler holds it for its whole body and never
// waits under it: sockets, event streams and timers are fed through queues.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Server is one workspace with one installed app.
type Server struct {
	opt      Options
	app      App
	listener net.Listener
	handler  http.Handler
	stop     context.Context // ends sockets, streams and pending waits
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu        sync.Mutex
	channels  []*channel
	files     map[string]*file
	views     map[string]*view
	stacks    map[string][]*view // open modals by user, root first
	homes     map[string]*view
	triggers  map[string]*trigger
	responses map[string]*responseURL
	methods   map[string]method
	limits    *limiter

	triggersNext, responsesNext int // sizes at which those maps are pruned

	sockets   []*socket
	nextSock  int
	lastSock  int // the socket that got the last envelope
	tickets   map[string]time.Time
	pending   map[string]*envelope
	backlog   []*envelope
	stream    stream
	calls     ring[call]
	sent      ring[sentRecord]
	faults    []*fault
	nextFault int

	eventHour  time.Time
	eventCount int   // events in that hour
	eventTold  int64 // the minute in which the app was told of too many

	held     *heldFrame
	saving   *time.Timer
	saveTook time.Duration
	saveMu   sync.Mutex // one writer of the state file at a time; taken before mu
}

// New builds a workspace and opens its listener, so that URL is known at once.
// It serves nothing before Run.
func New(opt Options) (*Server, error) {
	opt.fill()
	s := &Server{
		opt: opt, app: opt.App, listener: opt.Listener,
		files: map[string]*file{}, views: map[string]*view{}, stacks: map[string][]*view{}, homes: map[string]*view{},
		triggers: map[string]*trigger{}, responses: map[string]*responseURL{},
		tickets: map[string]time.Time{}, pending: map[string]*envelope{},
		calls: ring[call]{size: 10_000}, sent: ring[sentRecord]{size: 10_000},
		methods: methodTable(), limits: newLimiter(opt.RateLimits),
	}
	s.stream.changed = make(chan struct{})
	s.stop, s.cancel = context.WithCancel(context.Background())
	s.populate()
	if err := s.load(); err != nil {
		return nil, err
	}
	if s.listener == nil {
		l, err := (&net.ListenConfig{}).Listen(s.stop, "tcp", opt.Addr)
		if err != nil {
			return nil, fmt.Errorf("listen for the workspace on %s: %w", opt.Addr, err)
		}
		s.listener = l
	}
	// There are no passwords: whoever reaches the port is anybody in the class.
	if a, ok := s.listener.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		s.listener.Close()
		return nil, fmt.Errorf("listen for the workspace on %s: it has no passwords and takes loopback addresses only, such as 127.0.0.1:8080", a)
	}
	s.handler = s.guard(s.routes())
	return s, nil
}

// populate creates the channels of the options and a direct message for each person.
func (s *Server) populate() {
	everybody := []string{}
	for _, u := range s.opt.Users {
		everybody = append(everybody, u.ID)
	}
	for _, o := range s.opt.Channels {
		c := &channel{ID: o.ID, Name: o.Name, Type: "channel", Topic: o.Topic, Created: s.now().Unix(), Creator: everybody[0]}
		if o.Private {
			c.Type = "private"
		}
		if o.Members == nil {
			c.Members = append(slices.Clone(everybody), s.app.BotUserID)
		}
		for _, ref := range o.Members {
			if u := s.person(ref); u != nil {
				c.Members = append(c.Members, u.ID)
			} else if ref == s.app.Name || ref == s.app.BotUserID {
				c.Members = append(c.Members, s.app.BotUserID)
			}
		}
		s.channels = append(s.channels, c)
	}
	for _, u := range s.opt.Users {
		s.channels = append(s.channels, &channel{
			ID: madeID("D", u.Name), Name: s.app.Name, Type: "im", User: u.ID, Creator: u.ID,
			Created: s.now().Unix(), Members: []string{u.ID, s.app.BotUserID},
		})
	}
}

// Handler is the whole server as a handler, for tests that bring their own listener.
func (s *Server) Handler() http.Handler { return s.handler }

// URL is the address of the page, without a slash at the end.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// APIURL is what a Slack client takes for https://slack.com/api/.
func (s *Server) APIURL() string { return s.URL() + "/api/" }

// App is the installed app with the tokens and ids that were filled in.
func (s *Server) App() App { return s.app }

// Run serves until ctx ends or Close is called, then saves the state.
func (s *Server) Run(ctx context.Context) error {
	srv := &http.Server{Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shut := make(chan struct{})
	go func() {
		defer close(shut)
		select {
		case <-ctx.Done():
		case <-s.stop.Done():
		}
		s.mu.Lock()
		s.cancel()
		s.mu.Unlock()
		end, done := context.WithTimeout(context.Background(), 3*time.Second)
		defer done()
		if srv.Shutdown(end) != nil {
			srv.Close() //nolint:errcheck // the listener goes either way
		}
	}()
	err := srv.Serve(s.listener)
	cancel()
	<-shut
	s.Close() //nolint:errcheck // reported by its own caller; here the serve error counts
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the workspace on %s: %w", s.listener.Addr(), err)
}

// Close cuts every socket and stream, waits for them and saves the state.
func (s *Server) Close() error {
	s.mu.Lock() // so that enter sees either the cancel or is counted before the wait
	s.cancel()
	s.mu.Unlock()
	s.listener.Close() //nolint:errcheck // closing twice is fine
	s.wg.Wait()
	s.mu.Lock()
	if s.saving != nil {
		s.saving.Stop()
		s.saving = nil
	}
	s.mu.Unlock()
	return s.save()
}

// enter counts a goroutine that Close must wait for; false once closing began.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop.Err() != nil {
		return false
	}
	s.wg.Add(1)
	return true
}

func (s *Server) now() time.Time { return s.opt.Clock() }

// ring keeps the newest size items and numbers them from 1.
type ring[T any] struct {
	size  int
	first int // sequence of items[0]
	items []T
}

func (r *ring[T]) add(item T) int {
	if r.first == 0 {
		r.first = 1
	}
	r.items = append(r.items, item)
	if len(r.items) >= r.size+r.size/4+1 {
		r.first += len(r.items) - r.size
		r.items = append([]T(nil), r.items[len(r.items)-r.size:]...)
	}
	return r.first + len(r.items) - 1
}

// last is the sequence of the newest item, 0 when there is none.
func (r *ring[T]) last() int { return max(r.first, 1) + len(r.items) - 1 }

// since gives the items after seq and the sequence of the first of them; whole
// is false when older ones are gone already.
func (r *ring[T]) since(seq int) (items []T, first int, whole bool) {
	oldest := max(r.first, 1)
	if n := len(r.items) - r.size; n > 0 {
		oldest += n
	}
	from := max(seq+1, oldest)
	if from > r.last() {
		return nil, from, seq+1 >= oldest
	}
	return r.items[from-max(r.first, 1):], from, seq+1 >= oldest
}
